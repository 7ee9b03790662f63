package workspace

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loomext/loomext/internal/wire"
)

// raceVariable is how long the renamer runs, as a Go duration, in place of a second for each way.
const raceVariable = "LOOMEXT_TEST_RENAMER"

// TestARacingRenamerLeadsNowhere has somebody exchange directories and files for links that lead out, or into what is
// protected, for as long as calls are made over them.
func TestARacingRenamerLeadsNowhere(t *testing.T) {
	runs := time.Second
	if text := os.Getenv(raceVariable); text != "" {
		var err error
		if runs, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		outside := filepath.Join(filepath.Dir(dir), "outside")
		put(t, outside, map[string]string{"file": "secret", "sub/file": "secret", "outer": "secret"})
		put(t, dir, map[string]string{
			"a/swap/file": "plain", "a/swap/sub/file": "plain", "a/file": "plain", "a/deep/er/swap/file": "plain", ".git/file": "protected", ".git/sub/file": "protected",
		})
		link(t, "../../outside", dir, "a/out")
		link(t, outside, dir, "a/absolute")
		link(t, "../.git", dir, "a/git")
		link(t, "../../outside/file", dir, "a/secret")
		link(t, "../../../../outside", dir, "a/deep/er/out")
		link(t, "../swap", dir, "a/deep/in") // over "..", which a rename disturbs
		protected := disk(t, filepath.Join(dir, ".git"))

		ctx, cancel := context.WithTimeout(context.Background(), runs)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { rename(ctx, dir) })
		var done, lost atomic.Int64
		for n := range 2 {
			all.Go(func() {
				for round := 0; ctx.Err() == nil; round++ {
					for _, path := range []string{"a/swap/file", "a/swap/sub/file", "a/file", "a/deep/er/swap/file", "a/deep/in/file", fmt.Sprintf("a/swap/new%d/file", n)} {
						for op, err := range racing(w, path, round) {
							switch got := code(err); got {
							case "":
								done.Add(1)
							case wire.CodePermissionDenied, wire.CodeWrongKind, wire.CodeNotFound, wire.CodeUnavailable, wire.CodeStaleContent:
								lost.Add(1)
							default:
								t.Errorf("%s %s: %v", op, path, err)
							}
						}
					}
				}
			})
		}
		all.Wait()
		want := map[string]string{"file": "secret", "outer": "secret", "sub": "/", "sub/file": "secret"}
		if found := disk(t, outside); !maps.Equal(found, want) {
			t.Errorf("outside there is %v", found)
		}
		if found := disk(t, filepath.Join(dir, ".git")); !maps.Equal(found, protected) {
			t.Errorf("protected there is %v", found)
		}
		for path := range disk(t, dir) {
			if isTemp(filepath.Base(path)) {
				t.Errorf("%s is left", path)
			}
		}
		if done.Load() == 0 || lost.Load() == 0 {
			t.Error("the renamer disturbed all of it or nothing")
		}
		t.Logf("%d calls were done, %d lost", done.Load(), lost.Load())
	})
}

// TestARacingRenamerDoesNotLendItsLinks holds each step of a write to it: no directory and no file in one is reached
// through a link, though the name is exchanged for one between any two calls of the system.
func TestARacingRenamerDoesNotLendItsLinks(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		put(t, dir, map[string]string{"swap/file": "plain", "file": "plain", ".git/file": "protected"})
		link(t, ".git", dir, "dirlink")
		link(t, ".git/file", dir, "filelink")
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var renamer sync.WaitGroup
		renamer.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				pair := [][2]string{{"swap", "dirlink"}, {"file", "filelink"}}[n/2%2]
				_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(dir, pair[0]), unix.AT_FDCWD, filepath.Join(dir, pair[1]), unix.RENAME_EXCHANGE)
			}
		})
		swap, _ := parse("swap")
		for ctx.Err() == nil {
			for _, at := range []place{swap, {text: top}} {
				held, err := w.tree.folder(at)
				if err != nil {
					continue
				}
				if text, _, err := readIn(ctx, held, "file"); err == nil && string(text) != "plain" {
					t.Errorf("%s/file is %q", at.text, text)
				}
				held.close()
			}
		}
		renamer.Wait()
	})
}

// racing makes one call of each kind. A text from elsewhere is an error of its own.
func racing(w *Workspace, path string, round int) map[string]error {
	ctx := context.Background()
	text, read := w.Read(ctx, path)
	if strings.Contains(text, "secret") {
		read = fmt.Errorf("it reads %q", text)
	}
	entries, list := w.List(ctx, filepath.Dir(path))
	for _, e := range entries {
		if e.Name == "outer" {
			list = fmt.Errorf("it lists %v", entries)
		}
	}
	if round%8 != 0 { // writes wait for the disk
		return map[string]error{"read": read, "list": list}
	}
	return map[string]error{
		"read": read, "list": list,
		"write": w.Write(ctx, path, "plain written"),
		"edit":  w.Edit(ctx, path, []Edit{{"plain", "plain"}, {"written", "edited"}}),
	}
}

// rename exchanges names until its time is over.
func rename(ctx context.Context, dir string) {
	pairs := [][2]string{
		{"a/swap", "a/out"}, {"a/swap", "a/absolute"}, {"a/swap", "a/git"}, {"a/file", "a/secret"},
		{"a/deep/er/swap", "a/deep/er/out"}, {"a/swap/sub", "a/out"}, {"a/deep", "a/deeper"},
	}
	exchange := func(pair [2]string) {
		from, to := filepath.Join(dir, pair[0]), filepath.Join(dir, pair[1])
		if unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE) != nil {
			_ = os.Rename(from, to) // nothing there to exchange it for
		}
	}
	for n := 0; ctx.Err() == nil; n++ {
		pair := pairs[n%len(pairs)]
		exchange(pair)
		if pair[1] == "a/deeper" {
			pair[0], pair[1] = pair[1], pair[0]
		}
		exchange(pair)
	}
}
