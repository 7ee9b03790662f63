package workspace

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loomext/loomext/internal/wire"
)

// calls are all operations on one path.
func calls(w *Workspace, path string) map[string]error {
	ctx := context.Background()
	_, read := w.Read(ctx, path)
	_, list := w.List(ctx, path)
	return map[string]error{
		"read": read, "list": list,
		"write": w.Write(ctx, path, "written"),
		"edit":  w.Edit(ctx, path, []Edit{{"text", "edited"}}),
	}
}

func TestAHostilePathReachesNothing(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		put(t, dir, map[string]string{"a/file": "text", "file": "text"})
		put(t, filepath.Dir(dir), map[string]string{"outside": "text"})
		before := disk(t, filepath.Dir(dir))
		for path, part := range map[string]string{
			"":                          "path is empty",
			"/":                         "absolute",
			"/etc/passwd":               "absolute",
			"//file":                    "absolute",
			dir + "/file":               "absolute",
			"..":                        `has ".."`,
			"../outside":                `has ".."`,
			"../ws/file":                `has ".."`,
			"a/../file":                 `has ".."`,
			"a/..":                      `has ".."`,
			"a/../../outside":           `has ".."`,
			"./../outside":              "", // whichever it names first
			"./file":                    `write "file"`,
			"a/./file":                  `write "a/file"`,
			"a//file":                   `write "a/file"`,
			"a/":                        `write "a"`,
			"./":                        `write "."`,
			"file\x00":                  "NUL",
			"file\x00/../../outside":    "NUL",
			"\xff":                      "no UTF-8",
			"a/\xc0\xae\xc0\xae/file":   "no UTF-8",
			strings.Repeat("x", 256):    "has 256 bytes; at most 255",
			strings.Repeat("x/", 2049):  "has 4098 bytes; at most 4096",
			strings.Repeat("a/", 1<<20): "at most 4096",
		} {
			for op, err := range calls(w, path) {
				refused(t, op+" "+quoted(path), err, wire.CodeInvalidArgument, part)
				if e := err.(*Error); len(e.Msg) > 300 || e.Op != op || e.Path != path || strings.Contains(e.Msg, dir) {
					t.Errorf("%s %.40q: %+.400v", op, path, e)
				}
			}
		}
		if after := disk(t, filepath.Dir(dir)); !maps.Equal(before, after) {
			t.Errorf("the tree is %v; it was %v", after, before)
		}
	})
}

func TestAStrangePathIsAName(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, _ := begin(t, o)
		deep := strings.Repeat("d/", 40) + "file"
		for _, path := range []string{"...", "..a", "a..", " ", "-rf", "a b", "ü", "日本", "~", "$HOME", "*", "new\nline", strings.Repeat("x", 255), deep} {
			if err := w.Write(context.Background(), path, path); err != nil {
				t.Error(err)
			}
			if text, err := w.Read(context.Background(), path); text != path || err != nil {
				t.Errorf("%q, %v", text, err)
			}
		}
	})
}

// FuzzParse holds that a path that is taken is one that no system could understand otherwise.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", ".", "a/b", "../a", "a/..", "/a", "a//b", "a\x00", "\xff", "a/./b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := parse(text)
		if err != nil {
			if code(err) != wire.CodeInvalidArgument {
				t.Error(err)
			}
			return
		}
		if at.text != text || text != "." && strings.Join(at.parts, "/") != text || !filepath.IsLocal(text) || filepath.Clean(text) != text ||
			len(text) > MaxPath || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			t.Errorf("it took %q as %q", text, at.parts)
		}
	})
}
