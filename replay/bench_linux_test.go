package replay_test

import (
	"strings"
	"testing"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/record"
	"github.com/loomext/loomext/replay"
)

// BenchmarkReplay is a thousand calls with an effect of 1 KiB, and the start of their satellite.
func BenchmarkReplay(b *testing.B) {
	path := b.TempDir() + "/audit.jsonl"
	c := config.Default()
	h, err := host.New(host.Options{Home: home, Config: &c})
	if err != nil {
		b.Fatal(err)
	}
	w, err := record.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	s, err := h.Open(b.Context(), host.SessionOptions{Record: w})
	if err != nil {
		b.Fatal(err)
	}
	set := call("set", "key", "k", "text", strings.Repeat("x", 1<<10))
	for range 1000 {
		if _, err := s.Call(b.Context(), set); err != nil {
			b.Fatal(err)
		}
	}
	h.Close()
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	installed, err := install.Open(home).LoadImage(b.Context(), "probe")
	if err != nil {
		b.Fatal(err)
	}
	defer installed.Close()
	for b.Loop() {
		r, err := record.Read(path)
		if err != nil {
			b.Fatal(err)
		}
		summary, err := replay.New(replay.Options{Against: func(string) (*install.Installed, error) { return installed, nil }}).Run(b.Context(), r, func(replay.Result) error { return nil })
		if err != nil || summary.Same != 1001 {
			b.Fatalf("%+v %v", summary, err)
		}
		_ = r.Close()
	}
}
