package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/jail"
)

var update = flag.Bool("update", false, "rewrite the golden parts of the scripts")

// sharedCache is the build cache of every test here: the cold build happens once.
var sharedCache string

// programs are what tests find on PATH: this test binary under other names.
var programs = map[string]func(){"loomext": main}

// TestMain makes loomext a command that the scripts, and tests with a process of their own,
// find on PATH. It is this test binary again.
func TestMain(m *testing.M) {
	jail.Main() // vetting checks types in a child that is this program
	testscript.Main(leakChecked{m}, programs)
}

// leakChecked runs the tests and then wants every goroutine gone, and removes the cache.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	var err error
	if sharedCache, err = os.MkdirTemp("", "loomext-cli-cache-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer livetest.RemoveAll(sharedCache)
	status := l.m.Run()
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	return status
}

func TestScript(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup:               setupScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":    cmdStatus,
			"tamper":    cmdTamper,
			"replace":   cmdReplace,
			"jsonshape": cmdJSONShape,
			"empty":     cmdEmpty,
			"installed": cmdInstalled,
			"lastword":  cmdLastWord,
			"cut":       cmdCut,
		},
	})
}

// setupScript gives a script a store and the fixtures of its own, and the shared cache.
func setupScript(env *testscript.Env) error {
	units, err := filepath.Abs("../../examples/units")
	if err != nil {
		return err
	}
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("LOOM_HOME", filepath.Join(env.WorkDir, "loom"))
	env.Setenv("XDG_CACHE_HOME", sharedCache)
	env.Setenv("UNITS", units)
	env.Setenv("TERM", "xterm")
	env.Setenv("LEVEL", string(jail.Inspect().Level)) // what a command gets on this machine
	return os.CopyFS(filepath.Join(env.WorkDir, "ext"), os.DirFS("testdata/ext"))
}

// status N command args… runs a command that must end with exactly status N.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command args…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// tamper file flips one bit in the middle of a file, whatever its mode, and keeps its size.
func cmdTamper(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tamper file")
	}
	rewriteFile(ts, args[0], func(data []byte) []byte {
		data[len(data)/2] ^= 1
		return data
	})
}

// replace file old new replaces the first occurrence, which must exist.
func cmdReplace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: replace file old new")
	}
	rewriteFile(ts, args[0], func(data []byte) []byte {
		if !bytes.Contains(data, []byte(args[1])) {
			ts.Fatalf("%s does not hold %q", args[0], args[1])
		}
		return bytes.Replace(data, []byte(args[1]), []byte(args[2]), 1)
	})
}

func rewriteFile(ts *testscript.TestScript, name string, change func([]byte) []byte) {
	path := ts.MkAbs(name)
	info, err := os.Stat(path)
	ts.Check(err)
	data, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.Chmod(path, 0o600))
	ts.Check(os.WriteFile(path, change(data), 0o600))
	ts.Check(os.Chmod(path, info.Mode().Perm()))
}

// jsonshape in out writes which keys a JSON document has and of which types, without values.
func cmdJSONShape(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: jsonshape in out")
	}
	shape, err := jsonShape([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(shape), 0o600))
}

// cmdLastWord sets a variable to the last word of a file.
func cmdLastWord(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lastword VARIABLE file")
	}
	words := strings.Fields(ts.ReadFile(args[1]))
	if len(words) == 0 {
		ts.Fatalf("%s has no word", args[1])
	}
	ts.Setenv(args[0], words[len(words)-1])
}

// jsonShape lists every path of a document with the types that stand there, in the order of
// the document's keys. Below "config" and "schema", where an author's own keys stand, it does
// not look.
func jsonShape(doc []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var lines []string
	types := map[string][]string{}
	note := func(path, kind string) {
		if _, ok := types[path]; !ok {
			lines = append(lines, path)
		}
		if !slices.Contains(types[path], kind) {
			types[path] = append(types[path], kind)
		}
	}
	var walk func(path string) error
	walk = func(path string) error {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		delim, ok := token.(json.Delim)
		if !ok {
			note(path, kindOf(token))
			return nil
		}
		if delim == '[' {
			note(path, "array")
			for dec.More() {
				if err := walk(path + "[]"); err != nil {
					return err
				}
			}
		} else {
			note(path, "object")
			for dec.More() {
				key, err := dec.Token()
				if err != nil {
					return err
				}
				at := fmt.Sprintf("%s.%s", path, key)
				if opaque[key.(string)] {
					var skipped any
					if err := dec.Decode(&skipped); err != nil {
						return err
					}
					note(at, kindOf(skipped))
				} else if err := walk(at); err != nil {
					return err
				}
			}
		}
		_, err = dec.Token()
		return err
	}
	if err := walk(""); err != nil {
		return "", err
	}
	var out strings.Builder
	for _, path := range lines {
		sort.Strings(types[path])
		fmt.Fprintf(&out, "%s %s\n", "$"+path, strings.Join(types[path], "|"))
	}
	return out.String(), nil
}

// opaque are the keys whose values are an extension's own, a map from names, or what this
// machine's jail has to say.
var opaque = map[string]bool{"config": true, "overrides": true, "schema": true, "files": true, "json": true, "build_jail": true, "layers": true}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number, float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// empty dir wants a directory without entries, or none.
func cmdEmpty(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: empty dir")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		ts.Fatalf("%v", err)
	}
	if (len(entries) == 0) == neg {
		ts.Fatalf("%s has %d entries: %v", args[0], len(entries), entries)
	}
}

// installed name sets $GEN to the generation that a name is linked to.
func cmdInstalled(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: installed name")
	}
	generation, err := filepath.EvalSymlinks(filepath.Join(ts.Getenv("LOOM_HOME"), "extensions", args[0]))
	if neg {
		if err == nil {
			ts.Fatalf("%s is installed: %s", args[0], generation)
		}
		return
	}
	ts.Check(err)
	ts.Setenv("GEN", generation)
}

// cut file loses the end of a file in the middle of its last line, and has the one before damaged.
func cmdCut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: cut file")
	}
	rewriteFile(ts, args[0], func(data []byte) []byte {
		lines := bytes.SplitAfter(data, []byte("\n"))
		last := lines[len(lines)-2]
		lines[len(lines)-3][0] = '#'
		return append(bytes.Join(lines[:len(lines)-2], nil), last[:len(last)/2]...)
	})
}
