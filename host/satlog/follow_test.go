package satlog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// following is a Follow under way.
type following struct {
	came   chan Entry
	cancel context.CancelCauseFunc
	ended  chan error
}

var errEnough = errors.New("enough")

func follow(t *testing.T, p place, last int, where ...func(Entry) bool) *following {
	t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background()) // t's own ends before its cleanups
	f := &following{came: make(chan Entry, 10_000), cancel: cancel, ended: make(chan error, 1)}
	go func() {
		f.ended <- p.follow(ctx, last, func(e Entry) error { f.came <- e; return nil }, where)
	}()
	t.Cleanup(func() {
		cancel(errEnough)
		if err := <-f.ended; !errors.Is(err, errEnough) {
			t.Errorf("ended with %v", err)
		}
	})
	return f
}

// wants waits for these entries and no other.
func (f *following) wants(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for range want {
		select {
		case e := <-f.came:
			got = append(got, texts([]Entry{e})...)
		case <-time.After(patience):
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestFollowGivesTheLastAndThenWhatComes(t *testing.T) {
	p := small(t.TempDir(), 3)
	log := p.log()
	defer log.Close()
	for _, text := range []string{"a", "b", "c"} {
		log.Note("s", text)
	}
	two, all, none := follow(t, p, 2), follow(t, p, -1), follow(t, p, 0)
	two.wants(t, "s # b", "s # c")
	all.wants(t, "s # a", "s # b", "s # c")
	log.Note("s", "d")
	two.wants(t, "s # d")
	all.wants(t, "s # d")
	var first Entry
	eventually(t, "a line that comes", func() bool {
		log.Note("s", "later")
		select {
		case first = <-none.came:
		default:
		}
		return first.Text != ""
	})
	if first.Text != "d" && first.Text != "later" {
		t.Errorf("%+v is one of the last", first)
	}
}

func TestFollowKeepsToItsConditions(t *testing.T) {
	p := small(t.TempDir(), 3)
	log := p.log()
	defer log.Close()
	w := log.Writer("s")
	says(t, w, "a\n")
	log.Note("s", "started")
	f := follow(t, p, 1, func(e Entry) bool { return !e.Note })
	f.wants(t, "s | a")
	log.Note("s", "ended")
	says(t, w, "b\n")
	f.wants(t, "s | b")
}

func TestFollowWaitsForALog(t *testing.T) {
	p := small(filepath.Join(t.TempDir(), "home", "logs"), 3)
	f := follow(t, p, 10)
	log := p.log()
	defer log.Close()
	log.Note("s", "a")
	f.wants(t, "s # a")
}

func TestFollowGoesAcrossRotation(t *testing.T) {
	p := small(t.TempDir(), everything)
	log := p.log()
	defer log.Close()
	log.Note("s", numbered("s", 0))
	f := follow(t, p, 1)
	for n := range 500 {
		if n > 0 {
			log.Note("s", numbered("s", n))
		}
		f.wants(t, "s # "+numbered("s", n))
		if n == 5 {
			// Many files at once.
			for m := 1; m < 500; m++ {
				log.Note("t", numbered("t", m))
			}
			for m := 1; m < 500; m++ {
				f.wants(t, "t # "+numbered("t", m))
			}
			break
		}
	}
	if files := filesOf(t, p.dir); len(files) < 4 {
		t.Errorf("%v", files)
	}
}

// The last line of a file that is rotated may have no end, and it is given all the same.
func TestFollowFinishesAFile(t *testing.T) {
	p := small(t.TempDir(), 3)
	put(t, p.dir, "demo.log", entryLine("s", markOutput, "a")+"\n"+entryLine("s", markOutput, "torn"))
	f := follow(t, p, -1)
	f.wants(t, "s | a")
	if err := p.rotate(); err != nil {
		t.Fatal(err)
	}
	log := p.log()
	defer log.Close()
	log.Note("s", "b")
	f.wants(t, "s | torn", "s # b")
}

func TestFollowSaysWhatItMayHaveMissed(t *testing.T) {
	p := small(t.TempDir(), 1)
	log := p.log()
	log.Note("s", "a")
	f := follow(t, p, -1, func(e Entry) bool { return e.Session != "" })
	f.wants(t, "s # a")
	_ = log.Close()
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	log = p.log()
	defer log.Close()
	log.Note("s", "b")
	f.wants(t, " # "+missing, "s # b")
}

// Whoever empties a file makes its reader begin again; whoever takes half a line back does not.
func TestFollowSeesAShorterFile(t *testing.T) {
	p := small(t.TempDir(), 3)
	whole := entryLine("s", markOutput, "a") + "\n"
	put(t, p.dir, "demo.log", whole+"2026-11-30T11")
	f := follow(t, p, -1)
	f.wants(t, "s | a")
	if err := os.Truncate(p.path(0), int64(len(whole))); err != nil {
		t.Fatal(err)
	}
	log := p.log()
	defer log.Close()
	log.Note("s", "b")
	f.wants(t, "s # b")
	put(t, p.dir, "demo.log", entryLine("s", markOutput, "c")+"\n")
	f.wants(t, "s | c")
}

func TestFollowEndsWithWhatEmitSays(t *testing.T) {
	p := small(t.TempDir(), 3)
	log := p.log()
	defer log.Close()
	log.Note("s", strings.Repeat("x", 100))
	err := p.follow(t.Context(), -1, func(Entry) error { return errEnough }, nil)
	if !errors.Is(err, errEnough) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errEnough)
	if err := Follow(ctx, p.dir, p.name, 0, func(Entry) error { return nil }); !errors.Is(err, errEnough) {
		t.Error(err)
	}
}
