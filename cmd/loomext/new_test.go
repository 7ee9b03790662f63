package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
	"github.com/loomext/loomext/vet"
)

// loomext runs one command line in this process.
func loomext(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(context.Background(), args, streams{in: strings.NewReader(""), out: &out, err: &errs, env: environment()})
	return status, out.String(), errs.String()
}

// Each combination of up to two tools and one hook, and all hooks together, is what vetting takes, with the schemas that its
// types have and the prelude that there is.
func TestScaffoldsOfEveryCombination(t *testing.T) {
	combinations := [][]string{}
	events := append([]string{""}, manifest.Events()...)
	for _, tools := range [][]string{nil, {"--tool", "first"}, {"--tool", "first", "--tool", "sec_ond"}} {
		for _, event := range events {
			args := tools
			if event != "" {
				args = append(args[:len(args):len(args)], "--hook", event)
			}
			combinations = append(combinations, args)
		}
	}
	all := []string{"--tool", "first", "--tool", "sec_ond"}
	for _, event := range manifest.Events() {
		all = append(all, "--hook", event)
	}
	for i, args := range append(combinations, all) {
		t.Run(cmp.Or(strings.Join(args, " "), "no flags"), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), fmt.Sprint("ext_", i))
			if status, out, errs := loomext(t, append([]string{"new", dir}, args...)...); status != 0 || errs != "" || !strings.Contains(out, "\n  cd "+dir+"\n  loomext test .\n") || !strings.Contains(out, "\n  loomext install .\n") {
				t.Fatalf("new: status %d\n%s%s", status, out, errs)
			}
			tree, err := source.Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := tree.File(manifest.FileName)
			m, err := manifest.Decode(text, tree)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := vet.Syntax(t.Context(), tree, m); err != nil {
				t.Error(err)
			}
			if want := max(1, len(args)/2); len(m.Tools())+len(m.Hooks()) != want {
				t.Errorf("%d tools and %d hooks, want %d together", len(m.Tools()), len(m.Hooks()), want)
			}
			for _, command := range []string{"schema", "vendor"} {
				if status, _, errs := loomext(t, command, dir, "--check"); status != 0 {
					t.Errorf("%s --check: status %d, %s", command, status, errs)
				}
			}
		})
	}
}

func TestNewLeavesNothingWhereItCannotWrite(t *testing.T) {
	parent := t.TempDir()
	full := filepath.Join(parent, "there")
	if err := os.Mkdir(full, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, dir := range []string{full, filepath.Join(parent, "fresh")} {
		if err := writeNew(ctx, dir, map[string][]byte{"a/b": []byte("x"), manifest.FileName: nil}); err == nil {
			t.Errorf("%s: an ended context wrote", dir)
		}
	}
	if entries, _ := os.ReadDir(parent); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if entries, _ := os.ReadDir(full); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
	if os.Geteuid() == 0 {
		t.Skip("skipped layer: file permissions: they do not bind the superuser")
	}
	for _, dir := range []string{full, parent} {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(parent, 0o755) })
	for _, dir := range []string{full, filepath.Join(parent, "fresh")} {
		if status, _, errs := loomext(t, "new", dir, "--name", "x"); status != 14 || !strings.HasPrefix(errs, "generate: cannot write ") {
			t.Errorf("%s: status %d, %s", dir, status, errs)
		}
	}
}

// What a name that is no TOML could do is done to no manifest.
func TestNewTakesNoNameApart(t *testing.T) {
	for _, name := range []string{"a\"\n[net]\nhosts=[]", "a\\", "a\x00", "a\u202eb", "\xff", strings.Repeat("a", 100_000), "é", "'", "\"\"\""} {
		dir := filepath.Join(t.TempDir(), "ext")
		for _, args := range [][]string{{"--name", name}, {"--tool", name}, {"--hook", name}} {
			status, _, errs := loomext(t, append([]string{"new", dir}, args...)...)
			if status != 2 || !strings.HasPrefix(errs, "usage: new: "+args[0]) || strings.ContainsAny(errs, "\x00\u202e") || !utf8.ValidString(errs) {
				t.Errorf("%.40q: status %d, %.300s", args, status, errs)
			}
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%.40q: something was written", name)
		}
	}
}
