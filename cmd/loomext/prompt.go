package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
)

const (
	// maxAnswers is how many answers that are none are borne before they count as a no.
	maxAnswers = 5
	// maxAnswerLine is the longest line a terminal hands over.
	maxAnswerLine = 4096
)

// prompter asks an operator. The reader gives one line a call, without its end.
type prompter struct {
	w    io.Writer
	line func(context.Context) (string, error)
	// forget, if not nil, drops what was typed before a question: it was meant for something
	// else.
	forget func()
	// gate says what the operator made of an extension's gate.
	gate func(name string) gateSetting
}

// ask shows an approval and reads the operator's decision. Everything but a clear yes is a no.
func (p prompter) ask(ctx context.Context, a install.Approval) (install.Decision, error) {
	requested := make([]string, len(a.Requests))
	for i, request := range a.Requests {
		requested[i] = request.Capability
	}
	choices := "[y/N]"
	if len(requested) > 0 {
		choices = "[y/N/g/?]"
	}
	if _, err := fmt.Fprintf(p.w, "%s\n", approvalText(a, p.gate(a.Name))); err != nil {
		return install.Decision{}, err
	}
	for range maxAnswers {
		answer, err := p.question(ctx, fmt.Sprintf("Install %s %s? %s ", escape.Line(a.Name), escape.Line(a.Version), choices))
		if err != nil {
			return install.Decision{}, err
		}
		switch strings.ToLower(answer) {
		case "y", "yes":
			return install.Decision{All: true, How: "prompt"}, nil
		case "", "n", "no":
			return install.Decision{}, install.ErrDeclined
		case "g":
			if len(requested) > 0 {
				return p.subset(ctx, requested)
			}
		}
		help := "y  install\nn  do not (the default)\n"
		if len(requested) > 0 {
			help = "y  install and grant " + escape.Line(strings.Join(requested, ", ")) + "\n" +
				"n  do not (the default)\ng  choose what to grant, then install\n"
		}
		_, _ = io.WriteString(p.w, help)
	}
	return install.Decision{}, install.ErrDeclined
}

// subset asks which of the requested capabilities to grant.
func (p prompter) subset(ctx context.Context, requested []string) (install.Decision, error) {
	for range maxAnswers {
		answer, err := p.question(ctx, fmt.Sprintf("Grant which of %s? (separated by commas; nothing grants none) ",
			escape.Line(strings.Join(requested, ", "))))
		if err != nil {
			return install.Decision{}, err
		}
		granted := commaList(answer)
		stray := slices.IndexFunc(granted, func(c string) bool { return !slices.Contains(requested, c) })
		if stray < 0 {
			return install.Decision{Granted: granted, How: "prompt"}, nil
		}
		_, _ = fmt.Fprintf(p.w, "%s is not requested\n", escape.Line(granted[stray]))
	}
	return install.Decision{}, install.ErrDeclined
}

// question reads one answer. The end of the input is a no.
func (p prompter) question(ctx context.Context, text string) (string, error) {
	if p.forget != nil {
		p.forget()
	}
	if _, err := io.WriteString(p.w, text); err != nil {
		return "", err
	}
	answer, err := p.line(ctx)
	if err != nil {
		_, _ = io.WriteString(p.w, "\n")
		if errors.Is(err, io.EOF) {
			err = install.ErrDeclined
		}
		return "", err
	}
	return strings.TrimSpace(answer), nil
}

// commaList splits "net, kv" into its words; empty text is an empty list.
func commaList(s string) []string {
	words := []string{}
	for _, word := range strings.Split(s, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// prompter is how this run can ask, or why it cannot. Where standard error is redirected the
// question goes to the controlling terminal itself: an approval that nobody saw is none.
func (c *cli) prompter() (p prompter, done func(), err error) {
	in, ok := c.in.(*os.File)
	if !ok || !isTerminal(in) {
		return p, nil, errors.New("standard input is no terminal")
	}
	line := func(ctx context.Context) (string, error) { return readLine(ctx, in) }
	forget := func() { forgetTyped(in) }
	if isTerminal(c.err) {
		return prompter{w: c.err, line: line, forget: forget, gate: c.gateSetting}, func() {}, nil
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		return p, nil, fmt.Errorf("standard error is no terminal and there is no other (%w)", err)
	}
	return prompter{w: tty, line: line, forget: forget, gate: c.gateSetting}, func() { _ = tty.Close() }, nil
}

// readLine reads one line from a terminal, which hands over at most one at a time.
func readLine(ctx context.Context, terminal *os.File) (string, error) {
	in, err := newInput(ctx, terminal)
	if err != nil {
		return "", err
	}
	defer in.Close()
	line := make([]byte, maxAnswerLine)
	n, err := in.Read(line)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return strings.TrimRight(string(line[:n]), "\r\n"), err
}
