package satellite

import (
	"context"
	"testing"

	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/internal/wire"
)

// A satellite that is started ahead of need comes to rest before it was ever
// called. Its first call is answered like any other, and one that died meanwhile
// says so.
func TestFirstCallOfASatelliteStartedAhead(t *testing.T) {
	const ahead = 8
	var waiting []*Satellite
	for range ahead {
		waiting = append(waiting, launch(t, Config{}))
	}
	for _, s := range waiting {
		atRest(t, s)
	}
	kill(t, waiting[0])
	for _, s := range waiting[1:] {
		if s.call.id != 0 {
			t.Fatal("it was called before")
		}
		if got := said(t, s, "late 1"); got != "late" {
			t.Errorf("%q", got)
		}
	}
	<-waiting[0].Done()
	_, err := call(waiting[0], "echo", 0)
	failed(t, err, wire.CodeGone, "SIGKILL")
}

// atRest waits until a satellite was left alone long enough for the keeper to
// read.
func atRest(t testing.TB, s *Satellite) {
	t.Helper()
	livetest.Eventually(t, "the keeper reads", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.keeping })
}

// The first call of a satellite that was started ahead of need, for comparison
// with BenchmarkCallAtRest: both are made at rest, where a call also wakes what
// sleeps.
func BenchmarkFirstCall(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s, err := Launch(context.Background(), Config{Image: image})
		if err != nil {
			b.Fatal(err)
		}
		atRest(b, s)
		b.StartTimer()
		if _, err := call(s, "echo", 0); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		s.Close()
		b.StartTimer()
	}
}

func BenchmarkCallAtRest(b *testing.B) {
	s, err := Launch(context.Background(), Config{Image: image})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		b.StopTimer()
		atRest(b, s)
		b.StartTimer()
		if _, err := call(s, "echo", 0); err != nil {
			b.Fatal(err)
		}
	}
}
