package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
)

const (
	roleSessions = "sessions"

	// sessionRounds is how often each extension of each session is called, at every stage.
	sessionRounds = 5
	growthLimit   = 1.15

	// The memory of the processes is at rest where two readings, growthPause apart, differ by less than growthWithin.
	growthPause  = 200 * time.Millisecond
	growthWithin = 256 << 10
	growthWait   = 20 * time.Second
)

// sessionStages are the numbers of sessions at which memory is read.
var sessionStages = [...]int{50, 100, 200}

// crowded is what the host of many sessions found.
type crowded struct {
	Calls, Failed int64
	Failure       string // the first
	Memory        [len(sessionStages)]int64
	HostMemory    int64         // its part of the last of them
	Took          time.Duration // the calls of the last stage
}

// crowdedSessions is found once for the two figures that tell of it.
func crowdedSessions(ctx context.Context, b *bed) (*crowded, error) {
	if b.sessions == nil {
		var c crowded
		if err := inChild(ctx, twoCores, roleSessions, &c, b.path("home")); err != nil {
			return nil, err
		}
		b.sessions = &c
	}
	return b.sessions, nil
}

// failedCalls is how many calls failed of all.
func failedCalls(ctx context.Context, b *bed) (row, error) {
	c, err := crowdedSessions(ctx, b)
	if err != nil {
		return row{}, err
	}
	last := sessionStages[len(sessionStages)-1]
	r := row{
		measured: strconv.FormatInt(c.Failed, 10), floors: exact, limit: most(0).in(""), verdict: most(0).judge(float64(c.Failed)),
		note: fmt.Sprintf("of %d calls; the last %d, %d of them under way at a time, took %s", c.Calls, 2*last*sessionRounds, 2*last, duration(c.Took)),
	}
	if c.Failure != "" {
		r.note += fmt.Sprintf("; the first: %.200q", c.Failure)
	}
	return r, nil
}

// growth is what a session more takes, of the last ones against the ones before.
func growth(ctx context.Context, b *bed) (row, error) {
	c, err := crowdedSessions(ctx, b)
	if err != nil {
		return row{}, err
	}
	each := func(from, to int) float64 {
		return float64(c.Memory[to]-c.Memory[from]) / float64(sessionStages[to]-sessionStages[from]) / megabyte
	}
	before, after := each(0, 1), each(1, 2)
	return row{
		measured: fmt.Sprintf("%.2f", after/before), floors: exact, limit: most(growthLimit).String(), verdict: most(growthLimit).judge(after / before),
		note: fmt.Sprintf("%.2f MB ÷ %.2f MB for a session; %.0f MB for all %d, %.0f MB of it the host's",
			after, before, float64(c.Memory[2])/megabyte, sessionStages[2], float64(c.HostMemory)/megabyte),
	}, nil
}

// takeSessions opens sessions stage by stage. At each stage every extension of every session is called by a goroutine of its
// own, all at once, and then the memory is read.
func takeSessions(ctx context.Context, args []string) (c crowded, err error) {
	if len(args) != 1 {
		return c, errors.New("want a home")
	}
	settings := config.Default()
	h, err := host.New(host.Options{Home: args[0], Config: &settings})
	if err != nil {
		return c, err
	}
	defer h.Close()
	var open []*host.Session
	for i, stage := range sessionStages {
		for len(open) < stage {
			s, err := h.Open(ctx, host.SessionOptions{Extensions: []string{echoExtension, forecastTool}})
			if err != nil {
				return c, err
			}
			open = append(open, s)
		}
		start := time.Now()
		c.callAll(ctx, open)
		c.Took = time.Since(start)
		if c.Memory[i], c.HostMemory, err = memoryOf(ctx, open); err != nil {
			return c, err
		}
	}
	return c, nil
}

// callAll calls every extension of every session, sessionRounds times each.
func (c *crowded) callAll(ctx context.Context, open []*host.Session) {
	var failed atomic.Int64
	var failure string
	var first sync.Once
	var all sync.WaitGroup
	for i, s := range open {
		for _, call := range []host.Call{
			{Extension: echoExtension, Tool: echoTool, Args: fmt.Appendf(nil, `{"path":"session","line":%d}`, i+1)},
			{Extension: forecastTool, Tool: forecastTool, Args: []byte(forecastArgs)},
		} {
			all.Go(func() {
				for range sessionRounds {
					if err := answers(ctx, s, call); err != nil {
						failed.Add(1)
						first.Do(func() { failure = err.Error() })
					}
				}
			})
			c.Calls += sessionRounds
		}
	}
	all.Wait()
	c.Failed += failed.Load()
	if c.Failure == "" {
		c.Failure = failure
	}
}

// answers makes a call. The echo must be of this session's own arguments.
func answers(ctx context.Context, s *host.Session, call host.Call) error {
	outcome, err := s.Call(ctx, call)
	switch {
	case err != nil:
		return err
	case len(outcome.Content) != 1:
		return fmt.Errorf("%d blocks", len(outcome.Content))
	case call.Tool == echoTool && string(outcome.Content[0].Body) != string(call.Args):
		return fmt.Errorf("%s was answered with %s", call.Args, outcome.Content[0].Body)
	}
	return nil
}

// memoryOf is what the host and all satellites hold of their own once they are at rest: pages of files, which they share, are
// not counted, and neither is what the host's collector would give back.
func memoryOf(ctx context.Context, open []*host.Session) (all, own int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, growthWait)
	defer cancel()
	for before := int64(-growthWithin); ; before = all {
		debug.FreeOSMemory()
		r, err := residentOf(os.Getpid())
		if err != nil {
			return 0, 0, err
		}
		all, own = r.own, r.own
		for _, s := range open {
			for _, status := range s.Status() {
				if status.PID == 0 {
					return 0, 0, fmt.Errorf("%s of session %s: %s: %s", status.Name, s.ID(), status.State, status.Reason)
				}
				if r, err = residentOf(status.PID); err != nil {
					return 0, 0, err
				}
				all += r.own
			}
		}
		if all-before < growthWithin && before-all < growthWithin {
			return all, own, nil
		}
		select {
		case <-ctx.Done():
			return 0, 0, fmt.Errorf("the memory of %d sessions does not come to rest: %w", len(open), ctx.Err())
		case <-time.After(growthPause):
		}
	}
}
