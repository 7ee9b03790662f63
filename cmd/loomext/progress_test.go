package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/install"
)

// environment is an environment of the given NAME=value pairs.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for _, pair := range pairs {
			if value, ok := strings.CutPrefix(pair, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func TestProgress(t *testing.T) {
	began := install.Progress{Layer: install.LayerCompile, Text: "build\x1b[2J it"}
	done := install.Progress{Layer: install.LayerCompile, Text: "cached", Done: true, Took: 1234 * time.Millisecond}
	tests := []struct {
		name  string
		width int
		env   []string
		want  string
	}{
		{"a pipe", 0, []string{"TERM=xterm"}, "compile   cached (1.23s)\n"},
		{"a dumb terminal", 80, []string{"TERM=dumb"}, "compile   cached (1.23s)\n"},
		{"an unknown terminal", 80, nil, "compile   cached (1.23s)\n"},
		{"a terminal without color", 80, []string{"TERM=xterm", "NO_COLOR=1"},
			"\r\x1b[2Kcompile   build\\x1b[2J it …\r\x1b[2Kcompile   cached (1.23s)\n"},
		{"a terminal", 80, []string{"TERM=xterm"},
			"\r\x1b[2K\x1b[2mcompile  \x1b[0m build\\x1b[2J it …\r\x1b[2K\x1b[32mcompile  \x1b[0m cached (1.23s)\n"},
		{"a narrow terminal", 20, []string{"TERM=xterm", "NO_COLOR=1"},
			"\r\x1b[2Kcompile   build\\x1…\r\x1b[2Kcompile   cached (…\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			p := newProgress(&out, tt.width, environment(tt.env...))
			p.layer(began)
			p.layer(done)
			p.clear()
			if out.String() != tt.want {
				t.Errorf("got  %q\nwant %q", out.String(), tt.want)
			}
		})
	}
}

func TestProgressMakesRoomForOtherLines(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out, 80, environment("TERM=xterm", "NO_COLOR=1"))
	c := &cli{streams: streams{err: &out}, progress: p}
	p.layer(install.Progress{Layer: install.LayerFetch, Text: "read"})
	c.errorf("a warning\n")
	if want := "\r\x1b[2Kfetch     read …\r\x1b[2Ka warning\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// Where no line is rewritten, nothing else would say what the first install waits for.
func TestTheFirstInstallSaysWhyItTakesLong(t *testing.T) {
	for width, want := range map[int]string{
		0:   "vetting   first compiles the library, which takes up to a minute; later installs take less\n",
		200: eraseLine + "compile   the library …",
	} {
		var stderr bytes.Buffer
		c := &cli{streams: streams{err: &stderr}}
		c.progress = newProgress(&stderr, width, environment("TERM=xterm", "NO_COLOR=1"))
		c.patientBuilder().Progress("compile: the library")
		if got := stderr.String(); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
		stderr.Reset()
		c.builder().Progress("compile: the library") // of commands that say nothing where all is well
		if got := stderr.String(); width == 0 && got != "" {
			t.Errorf("%q", got)
		}
	}
}
