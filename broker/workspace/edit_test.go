package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loomext/loomext/internal/wire"
)

func TestEditsAreMadeInOrderOrNotAtAll(t *testing.T) {
	many := make([]Edit, MaxEdits+1)
	for i := range many {
		many[i] = Edit{"a", "b"}
	}
	for name, c := range map[string]struct {
		text       string
		edits      []Edit
		want       string // the text afterwards
		code, part string
	}{
		"one":                        {"a b c", []Edit{{"b", "B"}}, "a B c", "", ""},
		"in order":                   {"a b c", []Edit{{"b", "x"}, {"x c", "y"}}, "a y", "", ""},
		"removal":                    {"a b c", []Edit{{" b", ""}}, "a c", "", ""},
		"the whole":                  {"a", []Edit{{"a", ""}}, "", "", ""},
		"lines":                      {"a\nb\nc\n", []Edit{{"a\nb", "x"}, {"c\n", ""}}, "x\n", "", ""},
		"the first makes room":       {"a a", []Edit{{"a ", ""}, {"a", "b"}}, "b", "", ""},
		"nothing changes":            {"a", []Edit{{"a", "a"}}, "a", "", ""},
		"not there":                  {"a b", []Edit{{"c", "d"}}, "", wire.CodeStaleContent, "edits[0].find stands nowhere in it; read it again"},
		"no longer there":            {"a b", []Edit{{"a", "x"}, {"a", "y"}}, "", wire.CodeStaleContent, "edits[1].find stands nowhere in it after the edits before it"},
		"twice":                      {"a b a", []Edit{{"a", "x"}}, "", wire.CodeInvalidArgument, "edits[0].find stands 2 times in it; take more"},
		"twice through an edit":      {"a b", []Edit{{"b", "a"}, {"a", "x"}}, "", wire.CodeInvalidArgument, "edits[1].find stands 2 times in it after"},
		"overlapping":                {"aaa", []Edit{{"aa", "x"}}, "", wire.CodeInvalidArgument, "stands 2 times"},
		"everywhere":                 {strings.Repeat("a", 1000), []Edit{{"a", "x"}}, "", wire.CodeInvalidArgument, "more than 100 times"},
		"the last fails":             {"a b", []Edit{{"a", "x"}, {"b", "y"}, {"z", ""}}, "", wire.CodeStaleContent, "edits[2]"},
		"other line ends":            {"a\r\nb\r\n", []Edit{{"a\nb", "x"}}, "", wire.CodeStaleContent, `its lines end in "\r\n"`},
		"nothing to find":            {"a", []Edit{{"", "x"}}, "", wire.CodeInvalidArgument, "edits[0].find is empty"},
		"no edits":                   {"a", nil, "", wire.CodeInvalidArgument, "there are 0 edits; want 1 to 256"},
		"many edits":                 {"a", many, "", wire.CodeInvalidArgument, "there are 257 edits"},
		"NUL":                        {"a", []Edit{{"a", "\x00"}}, "", wire.CodeInvalidArgument, "edits[0].replace_with holds a NUL"},
		"no UTF-8":                   {"a", []Edit{{"a", "b"}, {"\xff", ""}}, "", wire.CodeInvalidArgument, "edits[1].find is no UTF-8"},
		"half a character":           {"é", []Edit{{"é"[:1], ""}}, "", wire.CodeInvalidArgument, "no UTF-8"},
		"a large text to find":       {"a", []Edit{{strings.Repeat("a", MaxFile+1), ""}}, "", wire.CodeTooLarge, "edits[0].find has 4194305 bytes"},
		"a result that is too large": {"ab", []Edit{{"a", strings.Repeat("a", MaxFile)}}, "", wire.CodeTooLarge, "with edits[0].replace_with it has 4194305 bytes"},
	} {
		each(t, func(t *testing.T, o Options) {
			w, dir := begin(t, o)
			put(t, dir, map[string]string{"dir/file": c.text})
			err := w.Edit(context.Background(), "dir/file", c.edits)
			want := map[string]string{"dir": "/", "dir/file": c.want}
			if c.code != "" {
				refused(t, name, err, c.code, c.part)
				want["dir/file"] = c.text
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got := disk(t, dir); !maps.Equal(got, want) {
				t.Errorf("%s: the tree is %.200q", name, got)
			}
		})
	}
}

func TestAnEditOfNothingIsNotFound(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		for _, path := range []string{"file", "a/b/file"} {
			refused(t, path, w.Edit(context.Background(), path, []Edit{{"a", "b"}}), wire.CodeNotFound, "nothing is there")
		}
		if found := disk(t, dir); len(found) != 0 {
			t.Errorf("the tree is %v", found)
		}
	})
}

// TestEditsAreWhatTheWordsSay holds apply to a plain reading of its comment.
func TestEditsAreWhatTheWordsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringMatching(`[ab]{0,8}`)
		text := letters.Draw(t, "text")
		var edits []Edit
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			edits = append(edits, Edit{rapid.StringMatching(`[ab]{1,3}`).Draw(t, "find"), letters.Draw(t, "with")})
		}
		want, wantCode := text, ""
		for _, e := range edits {
			places := []int{}
			for at := range want {
				if strings.HasPrefix(want[at:], e.Find) {
					places = append(places, at)
				}
			}
			if len(places) != 1 {
				wantCode = map[bool]string{true: wire.CodeStaleContent, false: wire.CodeInvalidArgument}[len(places) == 0]
				break
			}
			want = want[:places[0]] + e.ReplaceWith + want[places[0]+len(e.Find):]
		}
		got, err := apply(context.Background(), text, edits)
		if code(err) != wantCode || err == nil && got != want {
			t.Fatalf("%q, %v; want %q, %q", got, err, want, wantCode)
		}
	})
}

// TestASearchIsNotSlow gives texts that a careless search takes hours for.
func TestASearchIsNotSlow(t *testing.T) {
	text := strings.Repeat("a", MaxFile)
	begun := time.Now()
	for _, find := range []string{text[:MaxFile/2], text[:MaxFile/2] + "b", "b" + text[:MaxFile/2], "aa"} {
		if _, err := apply(context.Background(), text, []Edit{{find, ""}}); err == nil {
			t.Error("it was found once")
		}
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestAFileThatSomebodyChangedIsStale(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		ctx := context.Background()
		for name, change := range map[string]func(path string) error{
			"another text": func(path string) error { return os.WriteFile(path, []byte("other"), 0o644) },
			"more text":    func(path string) error { return os.WriteFile(path, []byte("text and more"), 0o644) },
			"as large, as old": func(path string) error {
				info, err := os.Stat(path)
				return errors.Join(err, os.WriteFile(path, []byte("tex!"), 0o644), os.Chtimes(path, info.ModTime(), info.ModTime()))
			},
			"another file": func(path string) error {
				return errors.Join(os.WriteFile(path+"2", []byte("text"), 0o644), os.Rename(path+"2", path))
			},
			"the same, written again": func(path string) error {
				return errors.Join(os.WriteFile(path, []byte("text"), 0o644), os.Chtimes(path, time.Now().Add(time.Hour), time.Now().Add(time.Hour)))
			},
			"gone":        os.Remove,
			"a directory": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) },
			"a link":      func(path string) error { return errors.Join(os.Remove(path), os.Symlink("elsewhere", path)) },
			"no text":     func(path string) error { return os.WriteFile(path, []byte("\x00"), 0o644) },
			"too large":   func(path string) error { return os.Truncate(path, MaxFile+1) },
		} {
			w, dir := begin(t, o)
			put(t, dir, map[string]string{"d/file": "text", "elsewhere": "text"})
			at, _ := parse("d/file")
			held, err := w.tree.folder(at.dir())
			if err != nil {
				t.Fatal(err)
			}
			text, before, err := readIn(ctx, held, at.name())
			if err != nil {
				t.Fatal(err)
			}
			if err := w.unchanged(ctx, held, at.name(), text, before); err != nil {
				t.Errorf("nothing was changed: %v", err)
			}
			if err := change(filepath.Join(dir, "d/file")); err != nil {
				t.Fatal(err)
			}
			left := disk(t, dir)
			err = w.replace(ctx, held, at, "edited", &former{before, noAccess}, func() error { return w.unchanged(ctx, held, at.name(), text, before) })
			refused(t, name, explain("edit", "d/file", err), wire.CodeStaleContent, "somebody else changed it")
			if after := disk(t, dir); !maps.Equal(after, left) {
				t.Errorf("%s: the tree is %.200q", name, after)
			}
			held.close()
		}
	})
}

func TestADirectoryThatWasMovedMeanwhileIsNotWritten(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		ctx := context.Background()
		for _, to := range []string{"../away", ".git", "other"} {
			w, dir := begin(t, o)
			put(t, dir, map[string]string{"d/file": "text"})
			at, _ := parse("d/file")
			held, err := w.tree.folder(at.dir())
			if err != nil {
				t.Fatal(err)
			}
			err = w.replace(ctx, held, at, "written", nil, func() error {
				return errors.Join(os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, to)), os.Mkdir(filepath.Join(dir, "d"), 0o755))
			})
			refused(t, to, explain("write", "d/file", err), wire.CodeUnavailable, "moved")
			held.close()
			if moved := disk(t, filepath.Join(dir, to)); !maps.Equal(moved, map[string]string{"file": "text"}) {
				t.Errorf("%s has %v", to, moved)
			}
		}
	})
}

func TestEditsOfOneWorkspaceWaitForEachOther(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		put(t, dir, map[string]string{"file": "end"})
		var editors sync.WaitGroup
		for n := range 8 {
			editors.Go(func() {
				for m := range 10 {
					if err := w.Edit(context.Background(), "file", []Edit{{"end", fmt.Sprintf("%d.%d\nend", n, m)}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		editors.Wait()
		text, err := w.Read(context.Background(), "file")
		if strings.Count(text, "\n") != 80 || err != nil {
			t.Errorf("%d edits were kept, %v", strings.Count(text, "\n"), err)
		}
		for n := range 8 {
			for m := range 10 {
				if line := fmt.Sprintf("%d.%d\n", n, m); strings.Count("\n"+text, "\n"+line) != 1 {
					t.Errorf("%q stands %d times", line, strings.Count("\n"+text, "\n"+line))
				}
			}
		}
	})
}

// Workspaces of several processes do not know each other. What one has made is stale for the other, or is there.
func TestEditsOfSeveralWorkspacesAreMadeOrStale(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		put(t, dir, map[string]string{"file": "end"})
		var made, stale atomic.Int64
		var editors sync.WaitGroup
		for n, w := range []*Workspace{w, openAt(t, dir, o), openAt(t, dir, o)} {
			editors.Go(func() {
				for m := range 30 {
					switch err := w.Edit(context.Background(), "file", []Edit{{"end", fmt.Sprintf("%d.%d\nend", n, m)}}); code(err) {
					case "":
						made.Add(1)
					case wire.CodeStaleContent:
						stale.Add(1)
					case wire.CodeUnavailable: // os.Root: it was replaced between being seen and opened
					default:
						t.Error(err)
					}
				}
			})
		}
		editors.Wait()
		found := disk(t, dir)
		if lines := int64(strings.Count(found["file"], "\n")); len(found) != 1 || lines > made.Load() || !strings.HasSuffix(found["file"], "\nend") {
			t.Errorf("%d edits were made and %d were stale; the tree is %v", made.Load(), stale.Load(), found)
		}
		t.Logf("%d made, %d stale, %d kept", made.Load(), stale.Load(), strings.Count(found["file"], "\n"))
	})
}
