package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/satellite"
)

const (
	roleAhead = "ahead"

	aheadRounds = 50 // of four rests, a tenth of a second each
	aheadLimit  = 1.5

	// plainCall is the call of a satellite, counted from 1, that its first one is held against. The ones in between have
	// brought what it uses into memory.
	plainCall = 10

	// A satellite sleeps where sleepLooks looks in a row, sleepPause apart, found all of its threads asleep and none of them
	// to have run in between.
	sleepLooks = 5
	sleepPause = 2 * time.Millisecond
	sleepWait  = 10 * time.Second
)

// firstCall is the first call that a satellite ever gets, some time after its start, against a later one that comes after the
// same time. What a call costs that follows another at once is told beside it.
func firstCall(ctx context.Context, b *bed) (row, error) {
	s, err := inPinnedChild(ctx, roleAhead, b.echo)
	if err != nil {
		return row{}, err
	}
	note := fmt.Sprintf("%s; %s for one that follows another at once, %.1f of which the first call takes", behind(s), duration(s.Beside), float64(s.Ours)/float64(s.Beside))
	return ratioRow(s, most(aheadLimit), note), nil
}

// takeAhead is the pinned child's part.
func takeAhead(ctx context.Context, args []string) (sample, error) {
	if len(args) != 1 {
		return sample{}, errors.New("want an artifact")
	}
	image, err := seal(args[0])
	if err != nil {
		return sample{}, err
	}
	defer image.Close()
	a := &ahead{image: image, text: jsonText(smallArgs)}
	defer a.close()
	if _, err := a.first(ctx); err != nil { // the first floor needs a satellite as well
		return sample{}, err
	}
	s, err := compare(ctx, aheadRounds, a.plain, a.first)
	s.Beside = median(a.busy)
	return s, err
}

type ahead struct {
	image *jail.Image
	text  []byte
	sat   *satellite.Satellite
	busy  []time.Duration // calls that followed another at once
}

func (a *ahead) close() {
	if a.sat != nil {
		a.sat.Close()
	}
}

func (a *ahead) call(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	_, err := a.sat.Tool(ctx, echoTool, a.text, "", 0)
	return time.Since(start), err
}

// first starts a satellite, leaves it alone, and times its first call.
func (a *ahead) first(ctx context.Context) (time.Duration, error) {
	a.close()
	var err error
	if a.sat, err = satellite.Launch(ctx, satellite.Config{Image: a.image}); err != nil {
		return 0, err
	}
	if err := asleep(ctx, a.sat.PID()); err != nil {
		return 0, err
	}
	return a.call(ctx)
}

// plain goes on with that satellite: some calls at once, and then one after it was left alone again.
func (a *ahead) plain(ctx context.Context) (time.Duration, error) {
	var took time.Duration
	for n := 2; n < plainCall; n++ {
		var err error
		if took, err = a.call(ctx); err != nil {
			return 0, err
		}
	}
	a.busy = append(a.busy, took)
	if err := asleep(ctx, a.sat.PID()); err != nil {
		return 0, err
	}
	return a.call(ctx)
}

// keeper is the function of package satellite that reads while nothing is asked.
const keeper = "satellite.(*Satellite).keep("

// asleep waits until the satellite waits for its first call and the host has left it alone for as long as it takes to let a
// goroutine of its own wait for what it says.
func asleep(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, sleepWait)
	defer cancel()
	stacks := make([]byte, 1<<20)
	var before int64
	for looks := 0; looks < sleepLooks; {
		ran, quiet, err := threads(pid)
		if err != nil {
			return err
		}
		if !quiet || ran != before || !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte(keeper)) {
			looks = 0
		}
		before = ran
		looks++
		select {
		case <-ctx.Done():
			return fmt.Errorf("the satellite does not fall asleep: %w", ctx.Err())
		case <-time.After(sleepPause):
		}
	}
	return nil
}

// threads says how often the threads of a process were switched to other ones, and whether all of them sleep.
func threads(pid int) (switches int64, quiet bool, err error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, false, err
	}
	quiet = true
	for _, e := range entries {
		text, err := os.ReadFile(dir + "/" + e.Name() + "/status")
		if err != nil {
			return 0, false, err
		}
		for line := range strings.Lines(string(text)) {
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			switch name {
			case "State":
				quiet = quiet && strings.HasPrefix(value, "S")
			case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
				n, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					return 0, false, err
				}
				switches += n
			}
		}
	}
	return switches, quiet && len(entries) > 0, nil
}
