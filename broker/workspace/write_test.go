package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

func TestAWriteIsRead(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		ctx := context.Background()
		for path, text := range map[string]string{
			"new": "text", "a/b/c/new": "text", "empty": "", "large": strings.Repeat("é", MaxFile/2), "crlf": "a\r\nb\r\n", "bom": "\ufeffx",
		} {
			for _, text := range []string{text, "shorter", text} {
				if err := w.Write(ctx, path, text); err != nil {
					t.Fatal(err)
				}
				if got, err := w.Read(ctx, path); got != text || err != nil {
					t.Errorf("%s: %d bytes, %v", path, len(got), err)
				}
			}
		}
		entries, err := w.List(ctx, ".")
		want := []Entry{{"a", true}, {"bom", false}, {"crlf", false}, {"empty", false}, {"large", false}, {"new", false}}
		if !slices.Equal(entries, want) || err != nil {
			t.Errorf("%v, %v", entries, err)
		}
		if found := disk(t, dir); len(found) != 9 {
			t.Errorf("the tree has %v", slices.Sorted(maps.Keys(found)))
		}
	})
}

func TestAWriteKeepsPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are others here")
	}
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		ctx := context.Background()
		for _, perm := range []fs.FileMode{0o755, 0o600, 0o644, 0o666, 0o711, 0o640} {
			path := filepath.Join(dir, "file")
			put(t, dir, map[string]string{"file": "text"})
			if err := os.Chmod(path, perm); err != nil {
				t.Fatal(err)
			}
			for name, call := range map[string]func() error{
				"write": func() error { return w.Write(ctx, "file", "text") },
				"edit":  func() error { return w.Edit(ctx, "file", []Edit{{"text", "texts"}}) },
			} {
				if err := call(); err != nil {
					t.Error(err)
				}
				if info, err := os.Lstat(path); err != nil || info.Mode() != perm {
					t.Errorf("%s: %v is %v, %v", name, perm, info.Mode(), err)
				}
			}
		}
		if err := w.Write(ctx, "new/file", ""); err != nil {
			t.Fatal(err)
		}
		// The umask of a test is anybody's; nothing it lets through is more than this.
		for name, most := range map[string]fs.FileMode{"new": 0o755, "new/file": 0o644} {
			info, err := os.Lstat(filepath.Join(dir, name))
			if err != nil || info.Mode().Perm()&^most != 0 || info.Mode().Perm()&0o600 != 0o600 {
				t.Errorf("%s is %v, %v", name, info.Mode(), err)
			}
		}
		if err := os.Chmod(filepath.Join(dir, "file"), 0o444); err != nil {
			t.Fatal(err)
		}
		refused(t, "write", w.Write(ctx, "file", ""), wire.CodePermissionDenied, "its permissions let nobody write it")
		refused(t, "edit", w.Edit(ctx, "file", []Edit{{"text", ""}}), wire.CodePermissionDenied, "its permissions let nobody write it")
	})
}

func TestOnlyTextIsWrittenAndRead(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		ctx := context.Background()
		put(t, dir, map[string]string{
			"nul": "text\x00", "latin": "caf\xe9", "cut": "caf\xc3", "large": strings.Repeat("x", MaxFile+1), "most": strings.Repeat("x", MaxFile), "fine": "�",
		})
		for name, want := range map[string][2]string{
			"nul": {wire.CodeWrongKind, "byte 4 is NUL"}, "latin": {wire.CodeWrongKind, "byte 3 begins no character"},
			"cut": {wire.CodeWrongKind, "byte 3 begins no character"}, "large": {wire.CodeTooLarge, "has 4194305 bytes; at most 4194304"},
		} {
			_, err := w.Read(ctx, name)
			refused(t, "read "+name, err, want[0], want[1])
			refused(t, "edit "+name, w.Edit(ctx, name, []Edit{{"x", "y"}}), want[0], want[1])
		}
		for _, name := range []string{"most", "fine"} {
			if _, err := w.Read(ctx, name); err != nil {
				t.Error(err)
			}
		}
		before := disk(t, dir)
		refused(t, "NUL", w.Write(ctx, "fine", "a\x00"), wire.CodeInvalidArgument, "contents holds a NUL")
		refused(t, "no UTF-8", w.Write(ctx, "fine", "a\xff"), wire.CodeInvalidArgument, "contents is no UTF-8")
		refused(t, "large", w.Write(ctx, "fine", before["large"]), wire.CodeTooLarge, "contents has 4194305 bytes; at most 4194304")
		if after := disk(t, dir); !maps.Equal(before, after) {
			t.Error("something was written")
		}
	})
}

func TestAListIsBounded(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		ctx := context.Background()
		for n := range MaxEntries {
			f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%05d", n)))
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
		entries, err := w.List(ctx, ".")
		if err != nil || len(entries) != MaxEntries || !slices.IsSortedFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%d, %v", len(entries), err)
		}
		put(t, dir, map[string]string{"more": ""})
		_, err = w.List(ctx, ".")
		refused(t, "one more", err, wire.CodeTooLarge, "more than 10000 entries")
	})
}

func TestNamesThatNoPathReachesAreNotListed(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		if err := os.WriteFile(filepath.Join(dir, "caf\xe9"), nil, 0o644); err != nil {
			t.Skip("this disk has no such names: ", err)
		}
		put(t, dir, map[string]string{"file": "", tempName(): "", ".hidden": ""})
		entries, err := w.List(context.Background(), ".")
		if want := []Entry{{".hidden", false}, {"file", false}}; !slices.Equal(entries, want) || err != nil {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

func TestAFailedWriteLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		put(t, dir, map[string]string{"file": "text", "dir/file": "text"})
		before := disk(t, dir)
		// A context that ends somewhere on the way: each look at it is one step further.
		for steps := range 12 {
			for _, path := range []string{"file", "new", "a/b/c/new", "dir/a/new"} {
				err := w.Write(&stepping{Context: context.Background(), left: steps}, path, strings.Repeat("x", 3*chunk))
				if code(err) != wire.CodeCancelled && steps < 5 || err != nil && code(err) != wire.CodeCancelled {
					t.Errorf("after %d steps: %v", steps, err)
				}
				if err == nil {
					for _, made := range []string{"a", "dir/a", "new"} {
						_ = os.RemoveAll(filepath.Join(dir, made))
					}
					put(t, dir, map[string]string{"file": "text"})
				}
				if after := disk(t, dir); !maps.Equal(before, after) {
					t.Fatalf("%s after %d steps leaves %v", path, steps, slices.Sorted(maps.Keys(after)))
				}
			}
		}
		refused(t, "below a file", w.Write(context.Background(), "file/a/b", ""), wire.CodeWrongKind, "no directory")
		refused(t, "a long name", w.Write(context.Background(), "a/b/"+strings.Repeat("x", 256), ""), wire.CodeInvalidArgument, "255")
		late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
		defer cancel()
		refused(t, "late", w.Write(late, "a/b", ""), wire.CodeDeadline, "over")
		if after := disk(t, dir); !maps.Equal(before, after) {
			t.Errorf("the tree is %v", after)
		}
	})
}

// stepping is a context that is cancelled when it has been looked at so often.
type stepping struct {
	context.Context
	left int
}

func (s *stepping) Err() error {
	if s.left--; s.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestReadersSeeTheOldTextOrTheNew(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		texts := []string{strings.Repeat("a", 300_000), strings.Repeat("b", 200_000)}
		put(t, dir, map[string]string{"file": texts[0]})
		ctx, cancel := context.WithCancel(context.Background())
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				for ctx.Err() == nil {
					got, err := os.ReadFile(filepath.Join(dir, "file"))
					if err != nil || string(got) != texts[0] && string(got) != texts[1] {
						t.Errorf("a reader sees %d bytes, %v", len(got), err)
						return
					}
				}
			})
		}
		for n := range 50 {
			if err := w.Write(ctx, "file", texts[n%2]); err != nil {
				t.Error(err)
			}
		}
		cancel()
		readers.Wait()
	})
}

func TestManyWritesIntoOneNewDirectory(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		var writers sync.WaitGroup
		for n := range 8 {
			writers.Go(func() {
				for round := range 5 {
					path := fmt.Sprintf("a/%d/%d", round, n)
					ctx := context.Background()
					if n%4 == 0 { // fails when its directories have been made
						if err := w.Write(&stepping{Context: ctx, left: 4}, path, strings.Repeat("x", 3*chunk)); err == nil {
							t.Error("it did not fail")
						}
						continue
					}
					if err := w.Write(ctx, path, "text"); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		files := 0
		for path, text := range disk(t, dir) {
			if text == "text" {
				files++
			} else if text != "/" || strings.Count(path, "/") > 1 {
				t.Errorf("%s is %.20q", path, text)
			}
		}
		if files != 30 {
			t.Errorf("%d files", files)
		}
		if len(w.turns.held) != 0 {
			t.Errorf("turns are held: %v", w.turns.held)
		}
	})
}

func TestWhatAKilledProcessLeftIsSwept(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		old, young, similar := tempName(), tempName(), tempPrefix+"notes"+tempSuffix
		put(t, dir, map[string]string{old: "", young: "", similar: "", "dir/" + old: "", "else/" + old: ""})
		long := time.Now().Add(-2 * stale)
		for _, name := range []string{old, similar, "dir/" + old, "else/" + old} {
			if err := os.Chtimes(filepath.Join(dir, name), long, long); err != nil {
				t.Fatal(err)
			}
		}
		ctx := context.Background()
		if err := errors.Join(w.Write(ctx, "file", ""), w.Write(ctx, "dir/file", "")); err != nil {
			t.Fatal(err)
		}
		found := disk(t, dir)
		for name, there := range map[string]bool{old: false, "dir/" + old: false, young: true, similar: true, "else/" + old: true} {
			if _, is := found[name]; is != there {
				t.Errorf("%s is there: %v", name, is)
			}
		}
		refused(t, "such a name", w.Write(ctx, "a/"+tempName(), ""), wire.CodeInvalidArgument, "files under way")
	})
}

func TestTheTurnsAtAPathAreWaitedForUnderTheContext(t *testing.T) {
	var all turns
	release, err := all.take(context.Background(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { _, err := all.take(ctx, "a"); ended <- err }()
	if other, err := all.take(context.Background(), "b"); err != nil {
		t.Error(err)
	} else {
		other()
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	release()
	if len(all.held) != 0 {
		t.Errorf("%v", all.held)
	}
}
