package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestMain lets the test binary be the far end as well: the clients start the program they are in.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && (os.Args[1] == serverGoPlugin || os.Args[1] == serverMCP) {
		main()
		return
	}
	os.Exit(m.Run())
}

const text = `{"path":"a.go","line":3,"text":"naïve \"quoted\"\n<lines>"}`

func TestPeersGiveTheArgumentsBack(t *testing.T) {
	for _, name := range []string{peerGoPlugin, peerMCP} {
		t.Run(name, func(t *testing.T) {
			p, err := open(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if back, err := p.call(t.Context(), text); err != nil || back != text {
					t.Errorf("%q, %v", back, err)
				}
			}
			if err := p.close(); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := open(t.Context(), "nobody"); err == nil {
		t.Error("there is a peer nobody")
	}
}

// counting is a peer that answers with what its function makes of the text.
type counting struct {
	calls  int
	answer func(string) (string, error)
}

func (c *counting) call(_ context.Context, text string) (string, error) {
	c.calls++
	return c.answer(text)
}

func (c *counting) close() error { return nil }

func TestOneNumberForEachLine(t *testing.T) {
	p := &counting{answer: func(text string) (string, error) { return text, nil }}
	var out strings.Builder
	if err := serve(t.Context(), p, 2, 5, text, strings.NewReader("\n\n\n"), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(out.String())
	if len(lines) != 3 || p.calls != 3*(2+5) {
		t.Errorf("%q after %d calls", lines, p.calls)
	}
	for _, line := range lines {
		if n, err := strconv.ParseInt(line, 10, 64); err != nil || n < 0 {
			t.Errorf("%q is no time", line)
		}
	}
}

func TestAnotherAnswerIsAFailure(t *testing.T) {
	broken := errors.New("broken")
	for name, answer := range map[string]func(string) (string, error){
		"short":  func(text string) (string, error) { return text[1:], nil },
		"failed": func(string) (string, error) { return "", fmt.Errorf("on purpose: %w", broken) },
	} {
		var out strings.Builder
		if err := serve(t.Context(), &counting{answer: answer}, 0, 1, text, strings.NewReader("\n"), &out); err == nil || out.Len() > 0 {
			t.Errorf("%s: %v, %q", name, err, out.String())
		}
	}
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	for _, args := range [][]string{nil, {peerMCP}, {peerMCP, "x", "1", "{}"}, {peerMCP, "0", "0", "{}"}, {peerMCP, "-1", "1", "{}"}, {"nobody", "0", "1", "{}"}} {
		if err := run(t.Context(), args, strings.NewReader(""), &strings.Builder{}); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
