package main

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
)

func TestWarningsAreALineEachAndEscaped(t *testing.T) {
	var out bytes.Buffer
	c := &cli{streams: streams{out: &out, err: &out}}
	c.progress = newProgress(&out, 0, func(string) string { return "" })
	log := slog.New(warnings{c: c}).With("extension", "demo")
	log.Info("satellite started")
	log.Warn("an artifact was not kept", "error", errors.New("no room\n\x1b[2J"))
	if want := "host: an artifact was not kept; extension: demo; error: no room\\n\\x1b[2J\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
