package workspace

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/loomext/loomext/internal/wire"
)

// node is a tree as it should be: exactly one of the kinds.
type node struct {
	dir  map[string]*node
	text *string
	link string // "out", "loop", or a path of the tree with slashes
	pipe bool
}

func file(text string) *node { return &node{text: &text} }

func newModel() *node {
	return &node{dir: map[string]*node{
		"a":    {dir: map[string]*node{"b": {dir: map[string]*node{"x": file("start")}}, "up": {link: "y"}}},
		".git": {dir: map[string]*node{"x": file("start")}},
		"y":    file("start"),
		"in":   {link: "a/b"},
		"out":  {link: "out"},
		"loop": {link: "loop"},
		"git":  {link: ".git"},
		"pipe": {pipe: true},
	}}
}

// build makes the tree on the disk. A link of the model is written relative to where it stands.
func (n *node) build(path string, depth int) error {
	switch {
	case n.dir != nil:
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		for name, child := range n.dir {
			if err := child.build(filepath.Join(path, name), depth+1); err != nil {
				return err
			}
		}
		return nil
	case n.text != nil:
		return os.WriteFile(path, []byte(*n.text), 0o644)
	case n.pipe:
		return unix.Mkfifo(path, 0o666)
	case n.link == "out":
		return os.Symlink(strings.Repeat("../", depth)+"outside", path)
	default:
		return os.Symlink(strings.Repeat("../", depth-1)+n.link, path)
	}
}

// flat is the tree as disk gives it, links and pipes without what they are.
func (n *node) flat(at string, into map[string]string) map[string]string {
	for name, child := range n.dir {
		path := strings.TrimPrefix(at+"/"+name, "/")
		switch {
		case child.dir != nil:
			into[path] = "/"
			child.flat(path, into)
		case child.text != nil:
			into[path] = *child.text
		case child.pipe:
			into[path] = "p---------"
		default:
			into[path] = "->"
		}
	}
	return into
}

// find follows a path for reading. Where there is no node it gives the code.
func (n *node) find(parts []string, root *node) (*node, string) {
	for i, part := range parts {
		if n.dir == nil {
			return nil, wire.CodeWrongKind
		}
		next, there := n.dir[part]
		switch {
		case !there:
			return nil, wire.CodeNotFound
		case next.link == "out":
			return nil, wire.CodePermissionDenied
		case next.link == "loop":
			return nil, wire.CodeWrongKind
		case next.link != "":
			target, code := root.find(strings.Split(next.link, "/"), root)
			if code != "" {
				return nil, code
			}
			return target.find(parts[i+1:], root)
		}
		n = next
	}
	return n, ""
}

// parent follows a path for writing, and gives the directory, made up to there where there is nothing.
func (n *node) parent(parts []string, making bool) (*node, string) {
	for i, part := range parts[:len(parts)-1] {
		next, there := n.dir[part]
		switch {
		case !there && !making:
			return nil, wire.CodeNotFound
		case !there:
			made := &node{dir: map[string]*node{}}
			if target, code := made.parent(parts[i+1:], true); code == "" {
				n.dir[part] = made
				return target, ""
			}
		case next.dir == nil:
			return nil, wire.CodeWrongKind
		}
		n = next
	}
	return n, ""
}

func judged(path string) ([]string, string) {
	if path == "." {
		return nil, ""
	}
	if path == "" || path[0] == '/' {
		return nil, wire.CodeInvalidArgument
	}
	parts := strings.Split(path, "/")
	for _, part := range parts {
		if part == "" || part == "." || part == ".." {
			return nil, wire.CodeInvalidArgument
		}
	}
	return parts, ""
}

func protectedIn(parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.EqualFold(p, ".git") || strings.EqualFold(p, ".envrc") })
}

func (n *node) read(path string) (string, string) {
	parts, code := judged(path)
	if code != "" {
		return "", code
	}
	found, code := n.find(parts, n)
	if code != "" {
		return "", code
	}
	if found.text == nil {
		return "", wire.CodeWrongKind
	}
	return *found.text, ""
}

func (n *node) list(path string) (string, string) {
	parts, code := judged(path)
	if code != "" {
		return "", code
	}
	found, code := n.find(parts, n)
	if code != "" {
		return "", code
	}
	if found.dir == nil {
		return "", wire.CodeWrongKind
	}
	var entries []Entry
	for _, name := range slices.Sorted(maps.Keys(found.dir)) {
		entries = append(entries, Entry{name, found.dir[name].dir != nil})
	}
	return fmt.Sprint(entries), ""
}

func (n *node) write(path, text string) string {
	parts, code := judged(path)
	switch {
	case code != "":
		return code
	case len(parts) == 0:
		return wire.CodeWrongKind
	case protectedIn(parts):
		return wire.CodePermissionDenied
	}
	dir, code := n.parent(parts, true)
	if code != "" {
		return code
	}
	name := parts[len(parts)-1]
	if old, there := dir.dir[name]; there && old.text == nil {
		return wire.CodeWrongKind
	}
	dir.dir[name] = file(text)
	return ""
}

func (n *node) edit(path, find, with string) string {
	parts, code := judged(path)
	switch {
	case code != "":
		return code
	case len(parts) == 0:
		return wire.CodeWrongKind
	case protectedIn(parts):
		return wire.CodePermissionDenied
	}
	dir, code := n.parent(parts, false)
	if code != "" {
		return code
	}
	old, there := dir.dir[parts[len(parts)-1]]
	switch {
	case !there:
		return wire.CodeNotFound
	case old.text == nil:
		return wire.CodeWrongKind
	}
	switch strings.Count(*old.text, find) { // of one letter
	case 0:
		return wire.CodeStaleContent
	case 1:
		text := strings.Replace(*old.text, find, with, 1)
		old.text = &text
		return ""
	}
	return wire.CodeInvalidArgument
}

// TestTheTreeIsThatOfTheModel makes calls at random and holds every answer, and the disk after each, to a model that
// knows no file system.
func TestTheTreeIsThatOfTheModel(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		base := t.TempDir()
		parts := []string{"a", "b", "x", "y", "up", "in", "out", "loop", "git", ".git", ".GIT", ".envrc", "pipe", "new", "..", ".", ""}
		rapid.Check(t, func(t *rapid.T) {
			home, err := os.MkdirTemp(base, "")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(home)
			dir := filepath.Join(home, "ws")
			model := newModel()
			outside := filepath.Join(home, "outside")
			if err := model.build(dir, 0); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(outside, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(outside, "x"), []byte("secret"), 0o644); err != nil {
				t.Fatal(err)
			}
			w, err := Open(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			ctx := context.Background()
			for range rapid.IntRange(1, 12).Draw(t, "calls") {
				path := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 4).Draw(t, "path"), "/")
				text := rapid.StringMatching(`[st]{0,4}`).Draw(t, "text")
				var got, want, answer, expected string
				switch op := rapid.SampledFrom([]string{"read", "list", "write", "edit"}).Draw(t, "op"); op {
				case "read":
					text, err := w.Read(ctx, path)
					got, answer = code(err), text
					expected, want = model.read(path)
				case "list":
					entries, err := w.List(ctx, path)
					if got = code(err); got == "" {
						answer = fmt.Sprint(entries)
					}
					expected, want = model.list(path)
				case "write":
					got, want = code(w.Write(ctx, path, text)), model.write(path, text)
				case "edit":
					got, want = code(w.Edit(ctx, path, []Edit{{"s", text}})), model.edit(path, "s", text)
				}
				if got != want || answer != expected {
					t.Fatalf("%q: %s %q; want %s %q", path, got, answer, want, expected)
				}
				if found, want := plainDisk(t, dir), model.flat("", map[string]string{}); !maps.Equal(found, want) {
					t.Fatalf("%q: the tree is\n%v\nwant\n%v", path, found, want)
				}
			}
			if text, err := os.ReadFile(filepath.Join(outside, "x")); string(text) != "secret" || err != nil {
				t.Fatalf("outside there is %q, %v", text, err)
			}
		})
	})
}

func plainDisk(t *rapid.T, dir string) map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case d.IsDir():
			found[name] = "/"
		case d.Type() == os.ModeSymlink:
			found[name] = "->"
		case d.Type().IsRegular():
			text, err := os.ReadFile(path)
			found[name] = string(text)
			return err
		default:
			found[name] = d.Type().String()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
