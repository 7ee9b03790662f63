package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vendorize"
)

// The bounds of a go test of an author's, beside those of its compiler runs, which are a build's.
const (
	// DefaultTestTimeout is the time of each test binary, and MaxTestTimeout the most it can be given: what a person waits for.
	DefaultTestTimeout = 5 * time.Minute
	MaxTestTimeout     = 10 * time.Minute
	// testCPULimit is processor time of each process; a test has several processors.
	testCPULimit = 10 * time.Minute
	// testProcesses is how many processes and threads the whole run has: a compiler and a test binary have some dozen
	// each, and a bomb as many as there is room for.
	testProcesses = 1024
	// testBinaries is how many packages are compiled and tested at once, at most.
	testBinaries = 4
	// testOutputLimit is how many bytes a run may write: a verbose run of a large extension writes a thousandth. The go
	// command keeps what a package writes until its tests are done, but for -v of a single package, so that a run may also
	// end where that meets dataLimit.
	testOutputLimit = 64 << 20
	// goCrashed is the exit status of a Go program that its runtime ended, which the go command has for nothing else that
	// happens once it runs.
	goCrashed = 2
)

// TestRun is one go test of an extension's own tests.
type TestRun struct {
	// Module is the path by which its packages import each other.
	Module string
	// Files are the extension's, by slash path: source, documents, tests and their data.
	Files map[string][]byte
	// Flags are flags of go test. The caller has chosen which may be given; none may name a file or a program.
	Flags []string
	// Timeout is the time of each test binary; zero is DefaultTestTimeout.
	Timeout time.Duration
	// Output takes what the run writes, from one goroutine.
	Output io.Writer
}

// TestResult is how a run ended.
type TestResult struct {
	// Passed says that every test passed, and at least the go command itself is content.
	Passed bool
	// Stderr is what the go command wrote beside the output: why something did not compile. It is bounded.
	Stderr string
	// Bound says in a sentence which bound ended the run, or is empty, and Fix what to do about it.
	Bound, Fix string
	// Exit is how the go command ended, and Report what stood around it.
	Exit   jail.Exit
	Report jail.Report
}

// Test runs an author's go test in the jail, offline, with the recorded environment of a build. Its reach is that of a
// build, and what it writes into its own directory may be executed, as a test binary must be: the packages are read-only
// where they stand, and t.TempDir is below the directory, which is gone afterwards.
//
// Tests that fail are no error. An error is an *[Error], or a *[jail.Error] where the go command could not be run, or
// wraps the cause of ctx's end.
func (b *Builder) Test(ctx context.Context, run TestRun) (_ TestResult, err error) {
	cache, err := b.open()
	if err != nil {
		return TestResult{}, err
	}
	toolchain, err := Probe(ctx, b.Go)
	if err != nil {
		return TestResult{}, err
	}
	root, err := testRoot(run)
	if err != nil {
		return TestResult{}, err
	}
	trusted, err := b.testTrusted(ctx, cache, toolchain)
	if err != nil {
		return TestResult{}, err
	}
	stage, err := cache.stage(ctx)
	if err != nil {
		return TestResult{}, err
	}
	defer func() { err = errors.Join(err, stage.remove()) }()
	if err := root.WriteSharing(stage.path(rootDir), trusted.vendor()); err != nil {
		return TestResult{}, storage(err)
	}
	if err := neverIndexed(stage.path(rootDir)); err != nil {
		return TestResult{}, storage(err)
	}
	result, err := b.test(ctx, toolchain, stage, trusted, run)
	if err == nil && !stands(result.Report, layerTree) {
		err = trusted.check()
	}
	return result, err
}

// testRoot is the extension as its tests find it.
func testRoot(run TestRun) (*vendorize.Root, error) {
	root, err := vendorize.NewTest(run.Module)
	if err != nil {
		return nil, err
	}
	for name, text := range run.Files {
		if err := root.AddTest(name, text); err != nil {
			return nil, err
		}
	}
	return root, nil
}

// testSpec is one go test of a stage's root.
func (b *Builder) testSpec(t Toolchain, s *stage, trusted *trusted, run TestRun, timeout time.Duration) jail.Spec {
	bound := b.bounds.filled()
	// A test may import a standard package that nothing here was compiled with; see runOnTrusted.
	env := append(environment(t, trusted.dir, s.path(workDir, tmpDir)), "GODEBUG=goindex=0")
	spec := b.spec(t, bound, s, env, trusted.dir)
	spec.Args = slices.Concat([]string{"test"}, flags(), []string{
		"-p=" + strconv.Itoa(min(runtime.GOMAXPROCS(0), testBinaries)), "-timeout=" + timeout.String(),
	}, run.Flags, []string{"./..."})
	spec.Profile = jail.Test
	spec.Limits.CPU, spec.Limits.Processes = max(bound.cpu, testCPULimit), testProcesses
	return spec
}

func (b *Builder) test(ctx context.Context, t Toolchain, s *stage, trusted *trusted, run TestRun) (TestResult, error) {
	timeout := run.Timeout
	if timeout == 0 {
		timeout = DefaultTestTimeout
	}
	wall := timeout + b.bounds.filled().wall
	limited, cancel := context.WithTimeout(ctx, wall)
	defer cancel()
	out := &limitedWriter{to: run.Output, left: testOutputLimit, over: cancel}
	spec := b.testSpec(t, s, trusted, run, timeout)
	spec.Stdout = out
	command, err := jail.Start(limited, spec, b.Jail)
	if err != nil {
		return TestResult{}, err
	}
	if b.Jailed != nil {
		b.Jailed(command.Report())
	}
	exit, err := command.Wait()
	result := TestResult{Exit: exit, Report: command.Report()}
	result.Stderr = strings.ReplaceAll(strings.ReplaceAll(command.Stderr(), s.path(rootDir)+"/", ""), s.dir+"/", "")
	switch {
	case ctx.Err() != nil:
		return result, fmt.Errorf("compile: stopped: %w", context.Cause(ctx))
	case out.full:
		result.Bound = fmt.Sprintf("the tests wrote more than %d MiB and were ended", testOutputLimit>>20)
		result.Fix = writeLess
	case out.err != nil:
		return result, out.err
	case limited.Err() != nil:
		result.Bound = fmt.Sprintf("the tests took longer than their bound of %s and were ended", wall)
		result.Fix = "give -- " + TestStacks + ", which shows where they hang"
	case err != nil:
		return result, err
	case exit.Bound == jail.BoundMemory && exit.Code == goCrashed:
		result.Bound = fmt.Sprintf("the tests wrote more than %d MiB, which the go command keeps until they are done, and were ended where it came to its bound of %d MiB of memory",
			testOutputLimit>>20, b.bounds.filled().data>>20)
		result.Fix = writeLess
		result.Stderr = beforeCrash(result.Stderr)
	case exit.Bound == jail.BoundSystemCall:
		result.Bound = "the tests were ended for a system call that the jail refuses"
		if exit.Call != "" {
			result.Bound += ": " + exit.Call
		}
		result.Fix = "leave it out; --trace shows where it is made"
	case exit.Bound != "" || exit.Signal != "":
		result.Bound = "the go command was ended: " + exit.String()
		result.Fix = "make the tests do less"
	}
	result.Passed = exit.OK() && result.Bound == ""
	return result, nil
}

// TestStacks are flags of go test with which a test that hangs is named and shows its stacks.
const TestStacks = "-timeout 10s -v"

// writeLess is what to do about tests that wrote too much.
const writeLess = "look for a loop that prints, or write less"

// beforeCrash is what a program wrote before the last words of its runtime, which are about itself.
func beforeCrash(stderr string) string {
	at := 0
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "runtime: ") {
			return stderr[:at]
		}
		at += len(line)
	}
	return stderr
}

// limitedWriter hands on so much and then ends the run.
type limitedWriter struct {
	to   io.Writer
	left int64
	over context.CancelFunc
	full bool
	err  error // of to
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > w.left {
		w.full = true
		w.over()
		return 0, errors.New("too much output")
	}
	w.left -= int64(len(p))
	if w.to == nil {
		return len(p), nil
	}
	n, err := w.to.Write(p)
	if err != nil {
		w.err = err
		w.over()
	}
	return n, err
}

// testStd is what tests import of the standard library beside what extensions may. It is compiled once; anything else
// works and costs its compile every time.
var testStd = []string{
	"bufio", "embed", "flag", "io/fs", "log", "os", "os/exec", "path/filepath", "runtime", "runtime/debug",
	"testing", "testing/fstest", "testing/iotest", "testing/quick", "testing/synctest",
}

// testTrusted is the Go build cache of tests: what a build's has, what the testing package needs, and captest. Tests do
// not share a build's, so that an author's runs on a machine never touch what installs are compiled from.
func (b *Builder) testTrusted(ctx context.Context, c *cache, t Toolchain) (*trusted, error) {
	return b.cacheOf(ctx, c, t, filling{
		kind:     "testcache/1",
		preludes: vendorize.TestDigest(),
		std:      slices.Concat(b.Std, testStd),
		news:     "compile: what tests are made of, once for " + t.Version,
		root:     fillTests,
		vendored: vendorize.CheckTestVendor,
		compile: func(spec *jail.Spec) {
			output := spec.Args[slices.Index(spec.Args, "-o")+1]
			spec.Args = slices.Concat([]string{"test"}, flags(), []string{"-c", "-o", output, "./" + vendorize.SatelliteDir})
		},
	})
}

// fillTests is [fillRoot] with a test, whose compile brings the testing package and its main program.
func fillTests(std []string) (*vendorize.Root, error) {
	root, err := vendorize.NewTest(fillModule)
	if err != nil {
		return nil, err
	}
	test := "package main\n\nimport (\n\t\"testing\"\n\n\t_ " + strconv.Quote(vendorize.TestPackage()) + "\n)\n\nfunc TestNothing(t *testing.T) {}\n"
	return root, errors.Join(
		root.AddSatellite(vendorize.SatelliteDir+"/main.go", fillProgram(std)),
		root.AddSatellite(vendorize.SatelliteDir+"/main_test.go", []byte(test)),
	)
}
