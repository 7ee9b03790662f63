package workspace

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomext/loomext/internal/wire"
)

// spellings are names that some file system takes for a protected one.
func spellings(name string) []string {
	letters := strings.TrimPrefix(name, ".")
	return []string{
		name, strings.ToUpper(name), "." + strings.ToUpper(letters[:1]) + letters[1:],
		name + ".", name + " ", name + ". .", name + "::$INDEX_ALLOCATION", name + ":stream",
		".\u200c" + letters, name + "\u200d", "\ufeff" + name, "." + letters[:1] + "\u00ad" + letters[1:], name + "\ufe0f",
		"․" + letters, // one dot leader, which is compatible with the dot
		"." + wide(letters), letters[:min(6, len(letters))] + "~1", strings.ToUpper(letters[:min(6, len(letters))]) + "~12",
	}
}

// wide writes letters in their full width.
func wide(letters string) string {
	return strings.Map(func(r rune) rune { return r + 0xfee0 }, letters)
}

func TestAProtectedNameIsNeverWritten(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		ctx := context.Background()
		for _, name := range Protected() {
			put(t, dir, map[string]string{name + "/config": "text", "sub/dir/" + name: "text"})
		}
		before := disk(t, dir)
		for _, name := range Protected() {
			for _, spelling := range spellings(name) {
				for _, path := range []string{spelling, spelling + "/config", spelling + "/hooks/new", "sub/" + spelling, "sub/dir/" + spelling, "new/er/" + spelling + "/x"} {
					refused(t, "write "+path, w.Write(ctx, path, "x"), wire.CodePermissionDenied, `"`+name+`" is protected`)
					refused(t, "edit "+path, w.Edit(ctx, path, []Edit{{"text", "x"}}), wire.CodePermissionDenied, `"`+name+`" is protected`)
				}
			}
			if text, err := w.Read(ctx, name+"/config"); text != "text" || err != nil {
				t.Errorf("it cannot be read: %q, %v", text, err)
			}
			if entries, err := w.List(ctx, name); len(entries) != 1 || err != nil {
				t.Errorf("it cannot be listed: %v, %v", entries, err)
			}
		}
		if after := disk(t, dir); !maps.Equal(before, after) {
			t.Errorf("the tree is %v", after)
		}
		for _, path := range []string{".gitignore", ".github/workflows/ci.yml", "git", "a.git", ".git2", "..git", ".environment", "loom", "git~x", "git~", "~1"} {
			if err := w.Write(ctx, path, "x"); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestALinkToAProtectedNameIsNeverWritten(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		ctx := context.Background()
		for _, name := range Protected() {
			put(t, dir, map[string]string{name + "/config": "text"})
			plain := strings.TrimPrefix(name, ".")
			link(t, name, dir, plain+"-dir")
			link(t, name+"/config", dir, plain+"-file")
			link(t, name+"/new", dir, plain+"-new")
			link(t, plain+"-dir", dir, plain+"-twice")
			for _, path := range []string{plain + "-dir/config", plain + "-dir/new", plain + "-dir/a/new", plain + "-file", plain + "-new", plain + "-twice/config", plain + "-dir"} {
				refused(t, path, w.Write(ctx, path, "x"), wire.CodeWrongKind, "links")
				refused(t, path, w.Edit(ctx, path, []Edit{{"text", "x"}}), wire.CodeWrongKind, "links")
			}
			if text, err := w.Read(ctx, plain+"-dir/config"); text != "text" || err != nil {
				t.Errorf("%q, %v", text, err)
			}
			if entries := disk(t, filepath.Join(dir, name)); len(entries) != 1 || entries["config"] != "text" {
				t.Errorf("%s has %v", name, entries)
			}
		}
	})
}

func TestTheOperatorProtectsMore(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		o.Protected = []string{"secrets", "deploy/prod.yaml", "a/b/c", "Straße"}
		w, _ := begin(t, o)
		ctx := context.Background()
		for path, name := range map[string]string{
			"secrets": "secrets", "x/Secrets/y": "secrets", "deploy/prod.yaml": "deploy/prod.yaml", "Deploy/PROD.yaml": "deploy/prod.yaml",
			"a/b/c/d": "a/b/c", "a/b/c": "a/b/c", "strasse": "Stra\\u00dfe", "STRASSE/x": "Stra\\u00dfe", ".git/x": ".git",
		} {
			refused(t, path, w.Write(ctx, path, "x"), wire.CodePermissionDenied, `"`+name+`" is protected`)
		}
		for _, path := range []string{"deploy/test.yaml", "x/deploy/prod.yaml", "prod.yaml", "a/b/d", "b/c", "secrets.md"} {
			if err := w.Write(ctx, path, "x"); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestWhatCannotBeProtectedIsRefused(t *testing.T) {
	for _, text := range []string{"", ".", "..", "/etc", "a//b", "a/", "./a", "../x", "\xff", "a\x00"} {
		_, err := Open(t.TempDir(), Options{Protected: []string{"fine", text}})
		refused(t, text, err, wire.CodeInvalidArgument, "cannot be protected")
	}
}

func TestWhatMayBeOpened(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		dir := t.TempDir()
		put(t, dir, map[string]string{".git/config": "", "file": "", ".claude/worktrees/w/x": "text"})
		link(t, ".git", dir, "innocent")
		for path, want := range map[string]string{
			".git": wire.CodePermissionDenied, "innocent": wire.CodePermissionDenied, "file": wire.CodeWrongKind, "missing": wire.CodeNotFound,
		} {
			o := o
			_, err := Open(filepath.Join(dir, path), o)
			refused(t, path, err, want, "workspace: open ")
		}
		// The operator's word counts for what is above.
		if text, err := openAt(t, filepath.Join(dir, ".claude/worktrees/w"), o).Read(context.Background(), "x"); text != "text" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	})
}

func TestAWorkspaceMovesWithItsDirectory(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		put(t, dir, map[string]string{"file": "text"})
		if err := os.Rename(dir, dir+"-moved"); err != nil {
			t.Skip("a directory in use is not moved here: ", err)
		}
		put(t, dir, map[string]string{"file": "another"})
		if text, err := w.Read(context.Background(), "file"); text != "text" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
	})
}

func TestAClosedWorkspaceIsUnavailable(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		put(t, dir, map[string]string{"file": "text"})
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		for op, err := range calls(w, "file") {
			refused(t, op, err, wire.CodeUnavailable, "closed")
		}
	})
}

// FuzzFold holds that folding is settled: what is folded folds to itself, and case does not matter.
func FuzzFold(f *testing.F) {
	for _, name := range append(spellings(".git"), "Straße", "ﬁ", "K", "İ", "ı", "\u0345", "...") {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if once := fold(name); fold(once) != once {
			t.Errorf("%q folds to %q, and that to %q", name, once, fold(once))
		}
	})
}
