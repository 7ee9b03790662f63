package build

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/jail"
)

func TestCompilerErrorsNameTheAuthorsFiles(t *testing.T) {
	toolWith := func(body string) string {
		return "package tool\n\nimport \"github.com/loomext/loomext/prelude/ext\"\n\nvar Run = ext.Typed(func(ctx ext.Ctx, q struct{}) (ext.Outcome, error) {\n" + body + "\n})\n"
	}
	hooked := oneTool + "\n[[hook]]\nevent = \"tool_call\"\nentry = \"gate\"\n"
	tests := []struct {
		name  string
		files tree
		want  []string // each a line's beginning, in order
	}{
		{"two mistakes in one file", tree{"tool/run.go": toolWith("\tvar days int = \"seven\"\n\treturn ext.Text(q.City), nil")}, []string{
			"compile: tool/run.go:6:6: declared and not used: days",
			"compile: tool/run.go:6:17: cannot use \"seven\"",
			"compile: tool/run.go:7:20: q.City undefined",
		}},
		{"a syntax error", tree{"tool/run.go": "package tool\n\nfunc Run() {\n"}, []string{"compile: tool/run.go:4:1: syntax error: unexpected EOF"}},
		{"an import that is not there", tree{"tool/more.go": "package tool\n\nimport _ \"golang.org/x/nope\"\n"}, []string{"compile: tool/more.go:3:8: cannot find module providing package golang.org/x/nope"}},
		{"two packages in one directory", tree{"tool/more.go": "package other\n"}, []string{"compile: loom_satellite/main.go:6:2: (in the rendered program) found packages other (more.go) and tool (run.go) in tool"}},
		{"an import cycle", tree{
			"a/a.go": "package a\n\nimport _ \"example.com/weather/b\"\n", "b/b.go": "package b\n\nimport _ \"example.com/weather/a\"\n",
			"tool/more.go": "package tool\n\nimport _ \"example.com/weather/a\"\n",
		}, []string{"compile: go build failed: exit status 1: package example.com/weather/loom_satellite imports example.com/weather/tool"}},
		{"an entry without its function", tree{"tool/run.go": "package tool\n"}, []string{"compile: loom_satellite/main.go:13:35: (in the rendered program) undefined: ext_entry_0.Run; give the entry package"}},
		{"a hook with another event's signature", tree{
			"extension.toml": hooked,
			"gate/gate.go":   "package gate\n\nimport \"context\"\n\nfunc OnToolCall(ctx context.Context, op string) error { return nil }\n",
		}, []string{"compile: loom_satellite/main.go:16:65: (in the rendered program) cannot use ext_entry_1.OnToolCall"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, want := mustRoot(t, weather(tt.files))
			_, err := (&Builder{Cache: shared}).Build(context.Background(), root, want)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("built: %v", err)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) < len(tt.want) {
				t.Fatalf("said only:\n%v", err)
			}
			for i, beginning := range tt.want {
				if !strings.HasPrefix(lines[i], beginning) {
					t.Errorf("line %d is\n%s\nwant\n%s…", i+1, lines[i], beginning)
				}
			}
			if strings.Contains(err.Error(), shared) {
				t.Errorf("the place of the build is in the message: %v", err)
			}
			if e.Stderr == "" {
				t.Error("what the go command wrote was not kept")
			}
			noStages(t, shared)
		})
	}
}

func TestExplainingWhatTheGoCommandWrote(t *testing.T) {
	failed := jail.Exit{Code: 1}
	tests := []struct {
		name, stderr string
		exit         jail.Exit
		want         string
	}{
		{"a continued line", "# x/tool\ntool/a.go:1:2: cannot use x as T value:\n\thave F()\n\twant F(int)\n", failed,
			"compile: tool/a.go:1:2: cannot use x as T value: have F() want F(int)"},
		{"no column", "./tool/a.go:7: bad\n", failed, "compile: tool/a.go:7: bad"},
		{"nothing at all", "", failed, "compile: go build failed: exit status 1"},
		{"vendored code", "vendor/github.com/loomext/loomext/prelude/ext/ext.go:3:4: oh\n", failed,
			"compile: vendor/github.com/loomext/loomext/prelude/ext/ext.go:3:4: (in loomext's own code) oh; this is a fault of loomext or of the Go installation, report it"},
		{"escapes for a terminal", "tool/a.go:1:2: undefined: \x1b[2J\u202e\xff\n", failed, `compile: tool/a.go:1:2: undefined: \x1b[2J\u202e` + "\ufffd"},
		{"the compiler's end at its bound", "example.com/x/tool: /go/pkg/tool/compile: signal: killed\n", jail.Exit{Code: 1, CPU: cpuLimit},
			"compile: the compiler was ended at its bound of 1m0s of processor time; " + lookForBomb},
		{"the go command's own end", "", jail.Exit{Code: -1, Signal: "SIGKILL", Bound: jail.BoundCPU},
			"compile: the compiler was ended at its bound of 1m0s of processor time; " + lookForBomb},
		{"the compiler's end before its bound", "example.com/x/tool: /go/pkg/tool/compile: signal: killed\n", jail.Exit{Code: 1, CPU: time.Second},
			"compile: the compiler was killed by the system, as it does when memory runs out; free some memory, or " + lookForBomb},
		{"a call that the filter refused", "", jail.Exit{Code: -1, Signal: "SIGKILL", Bound: jail.BoundSystemCall, Call: "socket"},
			"compile: the compiler was ended for the system call socket, which a build may not make; build with a version of Go that this loomext knows, or look at what the extension does to the compiler"},
		{"one that nobody saw", "example.com/x/tool: /go/pkg/tool/compile: signal: bad system call\n", failed,
			"compile: the compiler was ended for a system call, which a build may not make; build with a version of Go that this loomext knows, or look at what the extension does to the compiler"},
		{"no memory", "# x/tool\nfatal error: runtime: out of memory\n\ngoroutine 1\n", failed,
			"compile: the compiler needs more than its bound of 2048 MiB of memory; " + lookForBomb},
		{"no room", "# x/tool\ncompile: write /x/_pkg_.a: no space left on device\n", failed,
			"compile: no space left on device while compiling; free some room, or name another cache directory"},
		{"a source that quotes such words", "tool/a.go:1:2: cannot use \"out of memory, no space left on device, signal: killed\" as int value\n", failed,
			"compile: tool/a.go:1:2: cannot use \"out of memory, no space left on device, signal: killed\" as int value"},
		{"a crash of the compiler", "tool/a.go:3:4: internal compiler error: panic: x\n", failed,
			"compile: tool/a.go:3:4: the Go compiler crashed: internal compiler error: panic: x; simplify this code, or use another version of Go"},
		{"more than can be read", strings.Repeat("a.go:1:1: x\n", 50), failed,
			strings.Repeat("compile: a.go:1:1: x\n", maxFindings) + "compile: and 30 more; mend these first"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := explain(tt.stderr, tt.exit, bounds{}.filled()).Error(); got != tt.want {
				t.Errorf("said\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	long := explain("a.go:1:1: "+strings.Repeat("é", 100_000)+"\n\t"+strings.Repeat("x", 100_000), failed, bounds{}.filled()).Error()
	if len(long) > maxFinding+100 {
		t.Errorf("a long error is told in %d bytes", len(long))
	}
}

func FuzzExplain(f *testing.F) {
	f.Add("# x\ntool/a.go:1:2: bad\n\tmore\n", 1)
	f.Add("x.go:999999999999999999:1: y", -1)
	f.Fuzz(func(t *testing.T, stderr string, code int) {
		text := explain(stderr, jail.Exit{Code: code}, bounds{}.filled()).Error()
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "compile: ") {
				t.Errorf("%q has no layer", line)
			}
		}
		if len(text) > (maxFindings+2)*(maxFinding+400) {
			t.Errorf("%d bytes from %d", len(text), len(stderr))
		}
	})
}

func TestSatelliteRunsAndAsksForItsChannel(t *testing.T) {
	root, want := mustRoot(t, weather(nil))
	a, err := (&Builder{Cache: shared}).Build(context.Background(), root, want)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(a.Path)
	cmd.Env = []string{}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("without a channel it ended with %v and said %q", err, stderr.String())
	}
}

func TestELFThatIsNotStaticIsRefused(t *testing.T) {
	root, want := mustRoot(t, weather(nil))
	a, err := (&Builder{Cache: shared}).Build(context.Background(), root, want)
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckELF(a.Path); err != nil {
		t.Fatalf("a good satellite: %v", err)
	}
	good, err := os.ReadFile(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	// Offsets of the 64-bit header: type at 16, machine at 18, program headers of 56 bytes from 64, type first.
	const firstProgramHeader = 64
	set := func(offset int, value byte) func([]byte) []byte {
		return func(b []byte) []byte { b[offset] = value; return b }
	}
	for name, change := range map[string]func([]byte) []byte{
		"an interpreter":          set(firstProgramHeader, 3),
		"a dynamic segment":       set(firstProgramHeader, 2),
		"a writable code segment": func(b []byte) []byte { b[firstProgramHeader+56+4] = 7; b[firstProgramHeader+56] = 1; return b },
		"position independent":    set(16, 3),
		"another machine":         set(18, 8),
		"not ELF":                 set(0, 'X'),
		"cut off":                 func(b []byte) []byte { return b[:100] },
		"empty":                   func([]byte) []byte { return nil },
		"a script":                func([]byte) []byte { return []byte("#!/bin/sh\n") },
		"no program headers":      set(56, 0),
		"headers beyond the file": set(39, 0x7f),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x")
			if err := os.WriteFile(file, change(append([]byte{}, good...)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := CheckELF(file); err == nil || !strings.HasPrefix(err.Error(), "compile: loom_satellite: ") {
				t.Errorf("got %v", err)
			}
		})
	}
	if err := CheckELF(filepath.Join(t.TempDir(), "nothing")); err == nil {
		t.Error("a file that is not there passes")
	}
}

// A directive that links a shared object in runs its code before main; vetting refuses it first, and so does the build.
func TestDynamicImportIsRefusedByTheBuildItself(t *testing.T) {
	for _, directive := range []string{
		"//go:cgo_import_dynamic _ _ \"/tmp/evil.so\"",
		"//go:cgo_import_dynamic evil evil \"/tmp/evil.so\"",
		"//go:cgo_dynamic_linker \"/tmp/evil-ld.so\"",
		"//go:cgo_ldflag \"-Wl,--dynamic-linker=/tmp/evil\"",
	} {
		root, want := mustRoot(t, weather(tree{"tool/evil.go": "package tool\n\n" + directive + "\nfunc evil() {}\n"}))
		a, err := (&Builder{Cache: shared}).Build(context.Background(), root, want)
		if err == nil {
			// The compiler may drop a directive that it does not take outside cgo; then there must be nothing to see.
			if err := CheckELF(a.Path); err != nil {
				t.Errorf("%s: %v", directive, err)
			}
			data, err := os.ReadFile(a.Path)
			if err != nil || strings.Contains(string(data), "/tmp/evil") {
				t.Errorf("%s reached the satellite (%v)", directive, err)
			}
			continue
		}
		t.Logf("%s: %v", directive, err)
	}
}
