package host_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/internal/wire"
)

func TestAuthorityEndsWithTheAnswer(t *testing.T) {
	s := session(t)
	said(t, s, do(t, "set", "key", "key", "text", "value"))
	said(t, s, do(t, "after"))
	heard := said(t, s, do(t, "heard"))
	if with, without, _ := strings.Cut(heard, " / "); !strings.Contains(with, wire.CodeUnauthorized) || !strings.Contains(without, wire.CodeUnauthorized) {
		t.Errorf("a goroutine that outlived its answer was told %q", heard)
	}
	if got := said(t, s, do(t, "stale")); !strings.Contains(got, wire.CodeUnauthorized) {
		t.Errorf("a call under an answered invocation, while another is open, was told %q", got)
	}
	if got := said(t, s, do(t, "get", "key", "key")); got != "true value" {
		t.Errorf("%q", got)
	}
}

func TestEffectsOverlap(t *testing.T) {
	s := session(t)
	if got := said(t, s, do(t, "overlap", "n", 60)); got != "" {
		t.Error(got)
	}
	// Beyond the satellite's bound some are refused, by name, and nothing worse happens.
	for line := range strings.SplitSeq(said(t, s, do(t, "overlap", "n", 500)), "\n") {
		if line != "" && !strings.Contains(line, wire.CodePolicy) && !strings.Contains(line, "<nil> <nil>") {
			t.Error(line)
		}
	}
	if got := said(t, s, do(t, "overlap", "n", 60)); got != "" {
		t.Errorf("after the flood: %s", got)
	}
}

func TestScratchOutlivesTheSatelliteAndNotTheSession(t *testing.T) {
	h := newHost(t, host.Options{})
	s := open(t, h, host.SessionOptions{})
	said(t, s, do(t, "set", "key", "k", "text", "kept"))
	_, err := s.Call(t.Context(), do(t, "die"))
	fails(t, err, host.Crashed, "")
	if got := said(t, s, do(t, "get", "key", "k")); got != "true kept" {
		t.Errorf("%q", got)
	}
	if got := said(t, open(t, h, host.SessionOptions{}), do(t, "get", "key", "k")); got != "false " {
		t.Errorf("another session reads %q", got)
	}
}

func TestClockAndRandom(t *testing.T) {
	s := session(t)
	if got := said(t, s, do(t, "now")); !strings.HasPrefix(got, "20") || !strings.HasSuffix(got, "Z") {
		t.Errorf("%q", got)
	}
	if a, b := said(t, s, do(t, "random", "n", 16)), said(t, s, do(t, "random", "n", 16)); len(a) != 32 || a == b {
		t.Errorf("%q and %q", a, b)
	}
}

func TestReportsComeInOrderAndBeforeTheAnswer(t *testing.T) {
	s := session(t)
	var got []string
	call := do(t, "report", "text", "line ", "n", 3)
	call.Report = func(r host.Report) { got = append(got, r.Name+" "+r.ContentType+" "+string(r.Data)) }
	said(t, s, call)
	if want := "partial text/plain line 0\npartial text/plain line 1\npartial text/plain line 2"; strings.Join(got, "\n") != want {
		t.Errorf("%q", got)
	}
}

func TestAnArtifactIsKeptUnderItsID(t *testing.T) {
	h := newHost(t, host.Options{})
	s := open(t, h, host.SessionOptions{ID: "emitting"})
	var got host.Report
	call := do(t, "emit", "key", "table.csv", "text", "a,b\n1,2\n")
	call.Report = func(r host.Report) { got = r; got.Data = bytes.Clone(r.Data) }
	id := said(t, s, call)
	if id == "" || got.ID != id || got.Name != "table.csv" || got.ContentType != "text/csv" {
		t.Errorf("id %q, report %+v", id, got)
	}
	a, err := h.Artifacts().Get(id)
	if err != nil || a.Extension != "probe" || a.Session != "emitting" || a.Name != "table.csv" {
		t.Fatalf("%+v, %v", a, err)
	}
}

func TestTheLogHasWhatASatelliteSaid(t *testing.T) {
	s := session(t)
	_, err := s.Call(t.Context(), do(t, "die", "text", "remember me"))
	fails(t, err, host.Crashed, "remember me")
	path := filepath.Join(home, "logs", "probe.log")
	livetest.Eventually(t, "the log has it", func() bool {
		text, _ := os.ReadFile(path)
		return bytes.Contains(text, []byte("panic: remember me")) && bytes.Contains(text, []byte("ended: crashed"))
	})
}

func TestTheLoggerHearsNoWordOfAnExtension(t *testing.T) {
	var heard bytes.Buffer
	h := newHost(t, host.Options{Logger: slog.New(slog.NewTextHandler(&heard, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	s := open(t, h, host.SessionOptions{})
	const canary = "a-word-of-the-extension"
	for _, op := range []string{"echo", "refuse", "panic", "die", "emit", "set"} {
		_, _ = s.Call(t.Context(), do(t, op, "text", canary, "key", canary))
	}
	s.Close()
	if text := heard.String(); strings.Contains(text, canary) || !strings.Contains(text, "failed=crashed") || !strings.Contains(text, "satellite ended") {
		t.Error(text)
	}
}
