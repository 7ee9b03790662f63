package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/host"
)

const (
	// reportsWaiting is how many reports may wait for standard error. Beyond it they are
	// dropped and counted: a reader who is slow, or gone, must not hold up the call.
	reportsWaiting = 256
	// reportsGrace is how long the end of a call waits for reports to be written.
	reportsGrace = time.Second
)

// reports writes what a tool emits while it runs. Its lines are indented, so that none can
// pass for a line of loomext's own.
type reports struct {
	c       *cli
	waiting chan string
	done    chan struct{}
	dropped atomic.Int64
}

func (c *cli) newReports() *reports {
	r := &reports{c: c, waiting: make(chan string, reportsWaiting), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for text := range r.waiting {
			c.errorf("%s\n", text)
		}
	}()
	return r
}

// show takes a report: a partial as its text, and of an artifact what it is and the file that
// holds it. Reports arrive from the satellite's reader, one at a time, and show does not block it.
func (r *reports) show(report host.Report, path string) {
	if report.ID == "" {
		r.line("  " + escape.Indented(string(report.Data), "  "))
		return
	}
	r.line(fmt.Sprintf("  artifact %s (%s, %d bytes): %s", escape.Line(report.Name), escape.Line(report.ContentType), len(report.Data), escape.Line(path)))
}

// line writes a line in its turn, or drops it.
func (r *reports) line(text string) {
	select {
	case r.waiting <- text:
	default:
		r.dropped.Add(1)
	}
}

// end is called once the satellite is gone. It waits a moment for what is still to be written.
func (r *reports) end() {
	r.c.reports = nil
	if dropped := r.dropped.Load(); dropped > 0 {
		note := fmt.Sprintf("host: %d reports were dropped: standard error was not read fast enough", dropped)
		select {
		case r.waiting <- note:
		default:
		}
	}
	close(r.waiting)
	grace := time.NewTimer(reportsGrace)
	defer grace.Stop()
	select {
	case <-r.done:
	case <-grace.C:
		r.c.stuck.Store(true)
	}
}
