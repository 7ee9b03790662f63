// Package self knows which extension this is, and does what is asked of it by name.
package self

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Me is the extension's name.
const Me = "probe"

var (
	mu   sync.Mutex
	seen []string
)

// See remembers something.
func See(what string) {
	mu.Lock()
	defer mu.Unlock()
	seen = append(seen, what)
}

// Seen is what was remembered.
func Seen() string {
	mu.Lock()
	defer mu.Unlock()
	return strings.Join(seen, "\n")
}

// Asked is what a text asks of this extension: lines "name:verb:argument".
func Asked(text string) (verb, argument string) {
	for _, line := range strings.Split(text, "\n") {
		name, rest, ok := strings.Cut(line, ":")
		if ok && (name == Me || name == "all") {
			verb, argument, _ = strings.Cut(rest, ":")
			return verb, argument
		}
	}
	return "", ""
}

// Act does what every hook can do.
func Act(ctx context.Context, verb, argument string) error {
	switch verb {
	case "refuse":
		return errors.New(argument)
	case "panic":
		panic(argument)
	case "die":
		go func() { panic(argument) }()
		select {}
	case "spin":
		for i := 0; ; i++ {
			spun = i
		}
	case "hold":
		<-ctx.Done()
		return ctx.Err()
	case "slow":
		ms, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		time.Sleep(time.Duration(ms) * time.Millisecond)
	}
	return nil
}

var spun int
