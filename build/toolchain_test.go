package build

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeGo is a script in the place of a go command.
func fakeGo(t testing.TB, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "go")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestProbeFindsTheToolchain(t *testing.T) {
	found, err := Probe(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	if !filepath.IsAbs(found.GoRoot) || !strings.HasPrefix(found.Go, found.GoRoot) || release(found.Version) == "" {
		t.Errorf("found %+v", found)
	}
	// By its path, and by a link to it from elsewhere, it is the same toolchain.
	link := filepath.Join(t.TempDir(), "go")
	if err := os.Symlink(found.Go, link); err != nil {
		t.Fatal(err)
	}
	for _, named := range []string{found.Go, link} {
		if again, err := Probe(context.Background(), named); err != nil || again != found {
			t.Errorf("%s is %+v, %v; PATH's is %+v", named, again, err, found)
		}
	}
}

func TestProbeSaysWhatItNeedsAndWhatItFound(t *testing.T) {
	env := func(root, version, flags string) string {
		return "case $1 in version) echo 'go version " + version + " linux/amd64';; env) echo '{\"GOROOT\":\"" + root + "\",\"GOVERSION\":\"" + version + "\",\"GOFLAGS\":\"" + flags + "\"}';; esac\n"
	}
	directory := t.TempDir()
	tests := []struct{ name, command, want string }{
		{"a release too old", fakeGo(t, env("/usr/lib/go", "go1.25.3", "")), "need go1.26 or newer, have go1.25.3 linux/amd64; install a newer Go"},
		{"older than go env GOVERSION", fakeGo(t, "case $1 in version) echo 'go version go1.9 linux/amd64';; *) echo '{}';; esac\n"), "need go1.26 or newer, have go1.9 linux/amd64"},
		{"a damaged installation", fakeGo(t, "case $1 in version) echo 'go version go1.26.1 linux/amd64';; *) echo 'go: cannot find GOROOT directory' >&2; exit 2;; esac\n"), "go: cannot find GOROOT directory"},
		{"another program", fakeGo(t, "echo 'black wins by 6.5'\n"), "it is no go command: asked for its version it said \"black wins by 6.5\""},
		{"a program without end", fakeGo(t, "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; i=$((i+1)); [ $i -gt 2000 ] && exit; done\n"), "it is no go command"},
		{"a wrapper that wants HOME", fakeGo(t, "echo 'HOME is not set' >&2; exit 1\n"), "HOME is not set; name the go command of a whole Go installation"},
		{"flags in GOROOT's go.env", fakeGo(t, env("/usr/lib/go", "go1.26.1", "-tags=x")), "/usr/lib/go/go.env: it sets GOFLAGS=-tags=x"},
		{"a GOROOT without a go command", fakeGo(t, env("/nowhere", "go1.26.1", "")), "/nowhere/bin/go"},
		{"a GOROOT that is no path", fakeGo(t, env("", "go1.26.1", "")), "its GOROOT is \"\""},
		{"a directory", directory, "there is no go command"},
		{"nothing", filepath.Join(directory, "go"), "there is no go command"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, err := Probe(context.Background(), tt.command)
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "compile: ") {
				t.Errorf("found %+v, %v\nwant …%s…", found, err, tt.want)
			}
		})
	}
	t.Run("no go on PATH", func(t *testing.T) {
		t.Setenv("PATH", directory)
		if _, err := Probe(context.Background(), ""); err == nil || err.Error() != "compile: no go command on PATH; install Go 1.26 or newer, and put its go command on PATH" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an ended context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := Probe(ctx, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestVersionTexts(t *testing.T) {
	for text, want := range map[string]string{
		"go1.26.8":                        "go1.26.8",
		"go1.26.8 X:nocoverageredesign":   "go1.26.8",
		"devel go1.27-0a1b2c3d Tue Jan 1": "go1.27",
		"go1.27rc1":                       "go1.27rc1",
		"go1.26.2-vendor1":                "go1.26.2",
		"version 6":                       "",
		"":                                "",
	} {
		if got := release(text); got != want && !strings.HasPrefix(got, want+"-") {
			t.Errorf("%q is release %q, want %q", text, got, want)
		}
	}
}

func TestOnlyAReleaseIsKnownByItsVersionAlone(t *testing.T) {
	found, err := Probe(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	for version, stamped := range map[string]bool{"go1.26.8": false, "go1.26": false, "go1.27-0a1b2c": true, "devel go1.27-0a1b2c": true, "go1.26.8 X:foo": true} {
		found.Version = version
		stamp, err := found.stamp()
		if err != nil || (stamp != "") != stamped {
			t.Errorf("%s has the stamp %q, %v", version, stamp, err)
		}
	}
}
