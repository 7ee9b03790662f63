// Package tool does what a test asks for.
package tool

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"extension.invalid/probe/start"
	"github.com/loomext/loomext/prelude/cap/clock"
	"github.com/loomext/loomext/prelude/cap/fs"
	"github.com/loomext/loomext/prelude/cap/kv"
	"github.com/loomext/loomext/prelude/cap/net"
	"github.com/loomext/loomext/prelude/cap/rand"
	"github.com/loomext/loomext/prelude/ext"
)

type request struct {
	Op   string `json:"op"`
	Key  string `json:"key"`
	Text string `json:"text"`
	N    int    `json:"n"`
}

// counted is kept in memory from one invocation to the next.
var counted int

// Run is the tool.
var Run = ext.Typed(func(ctx ext.Ctx, r request) (ext.Outcome, error) {
	switch r.Op {
	case "echo":
		return ext.Text(r.Text), nil
	case "count":
		counted++
		return ext.Text(fmt.Sprint(counted, " of start ", start.Restarts)), nil
	case "refuse":
		return ext.Outcome{}, ext.Refuse("%s", r.Text)
	case "panic":
		panic(r.Text)
	case "die":
		go func() { panic(r.Text) }()
		select {}
	case "hold":
		ctx.Report("holding")
		<-ctx.Done()
		return ext.Outcome{}, ctx.Err()
	case "spin":
		for i := 0; ; i++ {
			counted = i
		}
	case "dice": // that the host has no part in
		return ext.Text(fmt.Sprint(mathrand.Uint64())), nil
	case "order": // of a map
		var keys strings.Builder
		for key := range map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8} {
			keys.WriteString(key)
		}
		return ext.Text(keys.String()), nil
	}
	text, err := capability(ctx, r)
	return ext.Text(text), err
})

// capability makes calls of a capability.
func capability(ctx context.Context, r request) (string, error) {
	switch r.Op {
	case "set":
		return "", kv.Set(ctx, r.Key, []byte(r.Text))
	case "get":
		value, found, err := kv.Get(ctx, r.Key)
		return fmt.Sprintf("%t %s", found, value), err
	case "again": // the same question, while the answer changes
		text := ""
		for n := range r.N {
			if err := kv.Set(ctx, r.Key, []byte(fmt.Sprint(n))); err != nil {
				return "", err
			}
			value, _, err := kv.Get(ctx, r.Key)
			if err != nil {
				return "", err
			}
			text += string(value)
		}
		return text, nil
	case "now":
		at, err := clock.Now(ctx)
		if err != nil {
			return "", err
		}
		b, err := rand.Bytes(ctx, r.N)
		return fmt.Sprintf("%s %x", at.Format(time.RFC3339Nano), b), err
	case "fetch":
		response, err := net.Fetch(ctx, r.Text)
		return fmt.Sprint(response.Status, " ", string(response.Body)), err
	case "impatient": // with an effect that takes longer
		short, stop := context.WithTimeout(ctx, time.Duration(r.N)*time.Millisecond)
		defer stop()
		_, err := net.Fetch(short, r.Text)
		return fmt.Sprint("gave up: ", err != nil), nil
	case "write":
		return "wrote", fs.Write(ctx, r.Key, r.Text)
	case "read":
		return fs.Read(ctx, r.Key)
	}
	return "", errors.New("no such op")
}
