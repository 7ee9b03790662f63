package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
)

// The few control sequences loomext writes itself.
const (
	eraseLine = "\r\x1b[2K"
	colorDim  = "\x1b[2m"
	colorDone = "\x1b[32m"
	colorOff  = "\x1b[0m"
)

// progress shows the layers of an install as they pass. On a terminal the line of a layer is
// rewritten when the layer is done; elsewhere each finished layer is a plain line.
type progress struct {
	mu      sync.Mutex
	w       io.Writer
	width   int // columns of the terminal, 0 where lines are plain
	color   bool
	pending bool // a line stands that is to be rewritten
}

// newProgress decides by what w is (width is 0 where it is no terminal) and by the
// environment: TERM=dumb cannot rewrite a line, NO_COLOR asks for no color.
func newProgress(w io.Writer, width int, env func(string) string) *progress {
	if term := env("TERM"); term == "dumb" || term == "" {
		width = 0
	}
	return &progress{w: w, width: width, color: width > 0 && env("NO_COLOR") == ""}
}

// layer shows one piece of news.
func (p *progress) layer(news install.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, text := string(news.Layer), escape.Line(news.Text)
	if !news.Done {
		if p.width > 0 {
			p.rewrite(name, text+" …", colorDim)
			p.pending = true
		}
		return
	}
	if news.Took >= time.Millisecond {
		text += fmt.Sprintf(" (%s)", roundedTime(news.Took))
	}
	if p.width > 0 {
		p.rewrite(name, text, colorDone)
		p.pending = false
		p.write("\n")
		return
	}
	p.write(fmt.Sprintf("%-9s %s\n", name, text))
}

// note writes a line about a layer that is not done.
func (p *progress) note(layer install.Layer, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(fmt.Sprintf("%-9s %s\n", string(layer), escape.Line(text)))
}

// rewrite replaces the line that stands with another, cut so that it cannot wrap.
func (p *progress) rewrite(name, text, color string) {
	const nameWidth = 9
	text = clip(text, max(p.width-nameWidth-2, 1))
	if p.color {
		p.write(fmt.Sprintf("%s%s%-9s%s %s", eraseLine, color, name, colorOff, text))
		return
	}
	p.write(fmt.Sprintf("%s%-9s %s", eraseLine, name, text))
}

// clear removes a line that was to be rewritten, so that something else can be printed.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending {
		p.write(eraseLine)
		p.pending = false
	}
}

// invite leaves a line for somebody to type after, which the next line that is printed replaces.
func (p *progress) invite(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(text)
	p.pending = p.width > 0
}

func (p *progress) write(s string) { _, _ = io.WriteString(p.w, s) }

// roundedTime is a duration with what a person reads of it.
func roundedTime(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}
