package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const (
	// installWithin is how long an install of the packages may take: a hundred
	// megabytes over a slow line.
	installWithin = 3 * time.Minute
	// complete is written when everything is there.
	complete = "complete"
)

// The programs, below the directory of the packages.
const (
	nodeProgram      = "node_modules/.bin/node"
	suiteProgram     = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	requirementsDir  = "node_modules/@modelcontextprotocol/conformance/requirements"
	inspectorProgram = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
)

// packages is where the programs are: installed once for each state of the lock file.
func packages(t *testing.T) string {
	t.Helper()
	kept := os.Getenv(DirVariable)
	if kept == "" {
		t.Skip("skipped layer: fetch: " + DirVariable + " is not set; make conformance sets it")
	}
	kept, err := filepath.Abs(kept)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	texts := map[string][]byte{}
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		text, err := os.ReadFile(filepath.Join(npmDir, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
		sum.Write(text)
	}
	dir := filepath.Join(kept, "npm-"+hex.EncodeToString(sum.Sum(nil))[:16])
	if _, err := os.Stat(filepath.Join(dir, complete)); err == nil {
		return dir
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	install(t, dir, texts)
	return dir
}

// install has npm install what the lock file names, and nothing else.
func install(t *testing.T, dir string, texts map[string][]byte) {
	t.Helper()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Fatal("there is no npm on the PATH, so neither the conformance suite nor the Inspector can be had; install Node with npm")
	}
	if err := os.RemoveAll(dir); err != nil { // what an install left that did not come to its end
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), installWithin)
	defer cancel()
	ci := exec.CommandContext(ctx, npm, "ci", "--no-progress", "--loglevel", "error")
	ci.Dir = dir
	if out, err := ci.CombinedOutput(); err != nil {
		t.Fatalf("npm cannot install the conformance suite and the Inspector: %v\n%s", err, out)
	}
	// The machine's Node may be too old for them, so theirs is among the packages.
	if out, err := exec.CommandContext(ctx, filepath.Join(dir, nodeProgram), "--version").CombinedOutput(); err != nil {
		t.Fatalf("the Node that is installed with them does not run: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, complete), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// node is a run of one of the programs. It sees a home of its own, so that it neither
// reads nor writes what the person who runs this has there.
func node(ctx context.Context, t *testing.T, dir, program string, args ...string) *exec.Cmd {
	t.Helper()
	run := exec.CommandContext(ctx, filepath.Join(dir, nodeProgram), append([]string{filepath.Join(dir, program)}, args...)...)
	home := t.TempDir()
	run.Dir = home
	run.Env = []string{"HOME=" + home, "PATH=" + filepath.Join(dir, "node_modules/.bin") + ":" + os.Getenv("PATH"), "NO_COLOR=1"}
	run.WaitDelay = 5 * time.Second // for what it started and did not end
	return run
}
