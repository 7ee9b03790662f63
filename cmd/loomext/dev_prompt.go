package main

import (
	"bufio"
	"context"
	"os"
)

// devPrompt reads the lines that a person types. Nil is where nobody does.
type devPrompt struct {
	c      *cli
	typed  chan string // closed at the end of the input, or of the reading
	in     *input
	ended  chan struct{}
	cancel context.CancelFunc
}

// longestTyped is the longest line that is read.
const longestTyped = 1 << 20

// newDevPrompt reads standard input where it is a terminal. Nothing else is read: a pipe or a
// file is not somebody who types.
func (c *cli) newDevPrompt(ctx context.Context) (*devPrompt, error) {
	f, ok := c.in.(*os.File)
	if !ok || !isTerminal(f) {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	in, err := newInput(ctx, f)
	if err != nil {
		cancel()
		return nil, err
	}
	p := &devPrompt{c: c, typed: make(chan string), in: in, ended: make(chan struct{}), cancel: cancel}
	go func() {
		defer close(p.ended)
		defer close(p.typed)
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, longestTyped)
		for lines.Scan() {
			select {
			case p.typed <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return p, nil
}

// lines are what is typed; where nobody does, they never come.
func (p *devPrompt) lines() <-chan string {
	if p == nil {
		return nil
	}
	return p.typed
}

// show invites the next line.
func (p *devPrompt) show() {
	if p != nil {
		p.c.progress.invite("dev> ")
	}
}

// close ends the reading.
func (p *devPrompt) close() {
	if p == nil {
		return
	}
	p.cancel()
	<-p.ended
	p.in.Close()
}
