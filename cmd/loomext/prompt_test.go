package main

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/loomext/loomext/install"
)

// answers is a prompter that reads from a list.
func answers(out io.Writer, lines ...string) prompter {
	gate := func(string) gateSetting { return gateSetting{} }
	return prompter{w: out, gate: gate, line: func(ctx context.Context) (string, error) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if len(lines) == 0 {
			return "", io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}}
}

func TestAsk(t *testing.T) {
	all := install.Decision{All: true, How: "prompt"}
	tests := []struct {
		name    string
		answers []string
		want    install.Decision
		no      bool
	}{
		{name: "yes", answers: []string{"y"}, want: all},
		{name: "yes in full", answers: []string{" YES "}, want: all},
		{name: "no", answers: []string{"n"}, no: true},
		{name: "the default is no", answers: []string{""}, no: true},
		{name: "end of input is no", no: true},
		{name: "help, then yes", answers: []string{"?", "y"}, want: all},
		{name: "never an answer", answers: []string{"yy", "ja", "1", "true", "ok", "y"}, no: true},
		{name: "a subset", answers: []string{"g", " proc "}, want: install.Decision{Granted: []string{"proc"}, How: "prompt"}},
		{name: "none of them", answers: []string{"g", ""}, want: install.Decision{Granted: []string{}, How: "prompt"}},
		{name: "a subset after a mistake", answers: []string{"g", "net,kv", "net , proc"}, want: install.Decision{Granted: []string{"net", "proc"}, How: "prompt"}},
		{name: "a subset never named", answers: []string{"g", "a", "a", "a", "a", "a", "net"}, no: true},
		{name: "end of input at the subset", answers: []string{"g"}, no: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			got, err := answers(&out, tt.answers...).ask(t.Context(), sampleApproval())
			if tt.no {
				if !errors.Is(err, install.ErrDeclined) {
					t.Fatalf("ask = %v, %v; want a no", got, err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Fatalf("ask = %+v, %v; want %+v", got, err, tt.want)
			}
			if !strings.Contains(out.String(), "EXAMPLE_KEY") || !strings.Contains(out.String(), "Install fetcher 2.0.0? [y/N/g/?] ") {
				t.Errorf("the question does not show what it is about:\n%s", out.String())
			}
		})
	}
}

func TestAskEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := answers(io.Discard, "y").ask(ctx, sampleApproval()); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want the end of the context", err)
	}
}

func TestAskWithoutRequestsOffersNoSubset(t *testing.T) {
	a := sampleApproval()
	a.Requests = nil
	var out strings.Builder
	if _, err := answers(&out, "g", "n").ask(t.Context(), a); !errors.Is(err, install.ErrDeclined) {
		t.Fatalf("err = %v", err)
	}
	if !strings.Contains(out.String(), "? [y/N] ") || strings.Contains(out.String(), "Grant which") {
		t.Errorf("a subset of nothing is offered:\n%s", out.String())
	}
}

func TestCommaList(t *testing.T) {
	for text, want := range map[string][]string{
		"": {}, " , ,": {}, "net": {"net"}, "net, kv ,fs_read": {"net", "kv", "fs_read"},
	} {
		if got := commaList(text); !reflect.DeepEqual(got, want) {
			t.Errorf("commaList(%q) = %q, want %q", text, got, want)
		}
	}
}
