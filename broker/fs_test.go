package broker

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomext/loomext/broker/workspace"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap/fs"
)

// inWorkspace is a new workspace, and where it is.
func inWorkspace(t testing.TB) (*workspace.Workspace, string) {
	t.Helper()
	dir := t.TempDir()
	w, err := workspace.Open(dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w, dir
}

func edit(find, with string) wire.Value {
	return wire.Map(arg("find", wire.String(find)), arg("replace_with", wire.String(with)))
}

// files is an invocation in a workspace, that was granted so much.
func files(t *testing.T, granted ...string) (*Invocation, string) {
	t.Helper()
	w, dir := inWorkspace(t)
	terms := Terms{Extension: "e", Requested: []string{"fs_read", "fs_write"}, Granted: granted, Workspace: w}
	return newBroker(t, Options{}).Open(terms, "s").Begin(nil, nil), dir
}

func TestAnAuthorWorksWithFiles(t *testing.T) {
	i, dir := files(t, "fs_read", "fs_write")
	ctx := author(t, i)
	if err := fs.Write(ctx, "src/main.go", "package main\n\nfunc main() {}\n"); err != nil {
		t.Fatal(err)
	}
	if err := fs.Edit(ctx, "src/main.go", []fs.Replacement{{Find: "main() {}", ReplaceWith: "main() { run() }"}, {Find: "package main\n", ReplaceWith: "package main // ä\n"}}); err != nil {
		t.Error(err)
	}
	text, err := fs.Read(ctx, "src/main.go")
	if text != "package main // ä\n\nfunc main() { run() }\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if onDisk, err := os.ReadFile(filepath.Join(dir, "src/main.go")); string(onDisk) != text || err != nil {
		t.Errorf("%q, %v", onDisk, err)
	}
	entries, err := fs.List(ctx, ".")
	if !slices.Equal(entries, []fs.Entry{{Name: "src", IsDir: true}}) || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
	if entries, err = fs.List(ctx, "src"); !slices.Equal(entries, []fs.Entry{{Name: "main.go"}}) || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestReadingIsNotWriting(t *testing.T) {
	path := arg("path", wire.String("file"))
	calls := map[string][]wire.Field{
		"fs.read": {path}, "fs.list": {arg("path", wire.String("."))},
		"fs.write": {path, arg("contents", wire.String("x"))}, "fs.edit": {path, arg("edits", wire.List(edit("text", "x")))},
	}
	for name, args := range calls {
		for granted, right := range map[string]bool{"fs_read": name == "fs.read" || name == "fs.list", "fs_write": name == "fs.write" || name == "fs.edit"} {
			i, dir := files(t, granted)
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o644); err != nil {
				t.Fatal(err)
			}
			if r := serve(i, name, args...); r.OK != right || !right && r.Fault.Code != wire.CodeDenied {
				t.Errorf("%s with %s: %v %v", name, granted, r.OK, r.Fault)
			}
		}
	}
}

func TestWithoutAWorkspaceFilesAreDenied(t *testing.T) {
	i := open(t, Options{}, nil)
	const msg = "this session has no workspace; the operator gives one with --workspace"
	refusedWith(t, serve(i, "fs.read", arg("path", wire.String("x"))), wire.CodeDenied, msg)
	refusedWith(t, serve(i, "fs.list", arg("path", wire.String("."))), wire.CodeDenied, msg)
	refusedWith(t, serve(i, "fs.write", arg("path", wire.String("x")), arg("contents", wire.String(""))), wire.CodeDenied, msg)
	refusedWith(t, serve(i, "fs.edit", arg("path", wire.String("x")), arg("edits", wire.List())), wire.CodeDenied, msg)
}

func TestFaultsOfFileCallsAreNamed(t *testing.T) {
	i, _ := files(t, "fs_read", "fs_write")
	path := arg("path", wire.String("x"))
	refusedWith(t, serve(i, "fs.edit", path, arg("edits", wire.List(edit("a", "b"), wire.Nil(), wire.Map(arg("find", wire.Int(1)))))),
		wire.CodeInvalidArgument, "edits[1] is nil; want a map; edits[2].find is an int; want a str; edits[2].replace_with is missing")
	refusedWith(t, serve(i, "fs.write", path, arg("contents", wire.Bin(nil))), wire.CodeInvalidArgument, "contents is a bin; want a str")
	refusedWith(t, serve(i, "fs.write", path, arg("contents", wire.String("\xff"))), wire.CodeInvalidArgument, "contents is no UTF-8")
	refusedWith(t, serve(i, "fs.edit", path, arg("edits", wire.List())), wire.CodeInvalidArgument, "there are 0 edits")
	many := make([]wire.Value, workspace.MaxEdits+1)
	for n := range many {
		many[n] = edit("a", "b")
	}
	refusedWith(t, serve(i, "fs.edit", path, arg("edits", wire.List(many...))), wire.CodeInvalidArgument, "there are 257 edits; want 1 to 256")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	refusedWith(t, i.Serve(cancelled, "fs.read", wire.Map(path)), wire.CodeCancelled, "")
}

func TestARefusalHasNoPathOfTheHost(t *testing.T) {
	var log bytes.Buffer
	w, dir := inWorkspace(t)
	b := newBroker(t, Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	i := b.Open(Terms{Extension: "e", Requested: everything, Granted: everything, Workspace: w}, "s").Begin(nil, nil)
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"missing", "file/below", ".", ".git/x", "a/" + strings.Repeat("x", 255) + "/y", dir} {
		for _, r := range []wire.Result{
			serve(i, "fs.read", arg("path", wire.String(path))), serve(i, "fs.list", arg("path", wire.String(path))),
			serve(i, "fs.edit", arg("path", wire.String(path)), arg("edits", wire.List(edit("a", "b")))),
		} {
			if strings.Contains(fmt.Sprint(r.Fault), filepath.Dir(dir)) {
				t.Errorf("%q: %v", path, r.Fault)
			}
		}
	}
	w.Close()
	refusedWith(t, serve(i, "fs.read", arg("path", wire.String("file"))), wire.CodeUnavailable, "closed")
	if strings.Contains(log.String(), dir) || strings.Contains(log.String(), "missing") || !strings.Contains(log.String(), "a file was not reached") {
		t.Errorf("the log has\n%s", &log)
	}
}

// What the configuration takes as protected is what a workspace takes.
func TestTheConfigurationsWordsAreTheWorkspaces(t *testing.T) {
	for _, text := range []string{
		"secrets", "a/b", ".env", "a b", "ü", "", ".", "..", "/a", "a/", "a//b", "./a", "a/../b", strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("a/", 2047) + "aa", strings.Repeat("a/", 2048) + "a",
	} {
		c, decoded := config.Decode(fmt.Appendf(nil, "[workspace]\nprotected = [%q]\n", text), t.TempDir())
		w, opened := workspace.Open(t.TempDir(), workspace.Options{Protected: []string{text}})
		if (decoded == nil) != (opened == nil) || decoded == nil && !slices.Equal(c.Workspace.Protected, []string{text}) {
			t.Errorf("%.40q: %v; %v", text, decoded, opened)
		}
		if w != nil {
			w.Close()
		}
	}
}
