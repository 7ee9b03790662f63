package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
)

func (c *cli) testCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test <dir> [-- flags of go test]",
		Short: "Run an extension's own tests in the jail",
		Long: `test runs "go test ./..." over an extension's packages in the jail, with the environment that
an install builds with: no network, no home, no variable of yours, the prelude and captest from
loomext itself. It needs no go.mod with a require line and no vendor directory. What the tests
write goes to standard output as go test prints it: with -v, or when a package is done.

The tests see their packages, with testdata and the extension's documents, to read; the
directory that t.TempDir names, to write; and nothing else of this machine. A test may import
the whole standard library, but it opens no socket, and what it starts is its own binary at most.
The source is not vetted: check does that.

After "--" these flags of go test may stand: ` + testFlagNames() + `.
"-- ` + build.TestStacks + `" names a test that hangs, and shows where.
-race is refused because it needs cgo, and -timeout is at most ` + build.MaxTestTimeout.String() + ` (default ` + build.DefaultTestTimeout.String() + `).

Exit statuses: 0 every test passed; 2 usage; 8 a test failed, or the run came to a bound; 10
fetch, 11 extract, 12 manifest; 15 a package or its tests do not compile; 18 the jail refused.
See "loomext help exitcodes".`,
		Example: `  loomext test .
  loomext test ./examples/units -- -run TestConverted -v
  loomext test . -- -timeout 10s -v
  loomext test . --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			named := args
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				named = args[:at]
			}
			return exactly("dir")(cmd, named)
		},
		ValidArgsFunction: directories,
		RunE: ran(func(cmd *cobra.Command, args []string) error {
			flags, timeout, err := testFlags(args[1:])
			if err != nil {
				return err
			}
			return c.test(cmd.Context(), args[0], flags, timeout, asJSON)
		}),
	}
	cmd.SetFlagErrorFunc(behindDashes)
	c.addBestEffort(cmd)
	cmd.Flags().BoolVar(&c.jail.Trace, "trace", false, "show where a system call is made that the jail refuses")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a summary of the run as JSON, in place of its output")
	return cmd
}

func (c *cli) test(ctx context.Context, dir string, flags []string, timeout time.Duration, asJSON bool) error {
	module, files, err := testFiles(ctx, dir)
	if err != nil {
		return err
	}
	run := build.TestRun{Module: module, Files: files, Flags: flags, Timeout: timeout}
	var (
		shown   *testOutput
		summary *testSummary
	)
	if asJSON {
		summary = &testSummary{packages: map[string]*testPackage{}}
		run.Flags, run.Output = append(run.Flags, "-json"), &testOutput{line: summary.event}
	} else {
		shown = &testOutput{line: func(line string) error { return writeShown(c.out, line, escape.Block) }}
		run.Output = shown
	}
	began := time.Now()
	result, err := c.builder().Test(ctx, run)
	if err != nil {
		var wall *jail.Error
		layer := install.LayerCompile
		if errors.As(err, &wall) {
			layer = install.LayerJail
		}
		if ctx.Err() != nil {
			return &hintedError{err, "loomext test " + escape.Line(shellWord(dir)) + " -- " + build.TestStacks + " shows where a test hangs"}
		}
		return &install.Error{Layer: layer, Err: err}
	}
	if asJSON {
		return c.finishTestJSON(ctx, dir, module, summary, result, time.Since(began))
	}
	if err := shown.flush(); err != nil {
		return err
	}
	if result.Stderr != "" {
		c.errorf("%s\n", escape.Indented("  "+strings.TrimRight(result.Stderr, "\n"), "  "))
	}
	return testVerdict(dir, result, shown.buildFailed)
}

// testVerdict is the error of a run that did not pass.
func testVerdict(dir string, result build.TestResult, buildFailed bool) error {
	switch {
	case result.Passed:
		return nil
	case result.Bound != "":
		return &testsError{text: "test: " + escape.Line(dir) + ": " + result.Bound + "; " + result.Fix}
	case buildFailed:
		return &install.Error{Layer: install.LayerCompile, Err: fmt.Errorf("%s: packages or their tests do not compile, see above; correct them", dir)}
	}
	return &testsError{text: "test: " + escape.Line(dir) + ": the tests failed, see above"}
}

// behindDashes says of a flag of go test that it stands behind "--".
func behindDashes(_ *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return flagFault(err)
	}
	// Of -timeout each letter is a flag to the parser, which names the first and has the whole beside it.
	name := unknown.GetSpecifiedShortnames()
	if name == "" {
		name = unknown.GetSpecifiedName()
	}
	name, _, _ = strings.Cut(name, "=")
	if _, ok := allowedTestFlags[name]; !ok && whyNot[name] == "" {
		return err
	}
	example := "-" + name
	switch {
	case name == "timeout":
		example = build.TestStacks
	case whyNot[name] != "":
		return fmt.Errorf("-%s: %s", name, whyNot[name])
	case !allowedTestFlags[name]:
		example += " …"
	}
	return fmt.Errorf("-%s is a flag of go test; write it after --, as in loomext test . -- %s", name, example)
}

// testsError is tests that failed.
type testsError struct{ text string }

func (e *testsError) Error() string { return e.text }

// testFiles is what the tests of a source find: the kept tree, which an install has too, and
// what no install has.
func testFiles(ctx context.Context, dir string) (module string, files map[string][]byte, err error) {
	refused := func(err error) error {
		layer := install.LayerExtract
		var errs source.Errors
		if errors.As(err, &errs) && len(errs) > 0 && errs[0].Layer == source.LayerFetch {
			layer = install.LayerFetch
		}
		return &install.Error{Layer: layer, Err: err}
	}
	tree, err := source.Open(ctx, dir)
	if err != nil {
		return "", nil, refused(err)
	}
	if files, err = source.Tests(ctx, dir); err != nil {
		return "", nil, refused(err)
	}
	for _, path := range tree.Paths() {
		files[path], _ = tree.File(path)
	}
	module = tree.Module()
	if module == "" {
		text, ok := tree.File(manifest.FileName)
		if !ok {
			return "", nil, &install.Error{Layer: install.LayerManifest, Err: fmt.Errorf("%s: there is neither a go.mod nor an %s at its root; name the directory that holds the extension's", dir, manifest.FileName)}
		}
		m, faults := manifest.Decode(text, tree)
		if faults != nil {
			return "", nil, &install.Error{Layer: install.LayerManifest, Err: faults}
		}
		module = "extension.invalid/" + m.Name()
	}
	return module, files, nil
}

// The flags of go test that may be given: none names a file or a program, or asks for a
// compiler's flags. Those that are true take no value in the next argument.
var allowedTestFlags = map[string]bool{
	"run": false, "skip": false, "v": true, "count": false, "short": true, "bench": false, "benchtime": false, "benchmem": true,
	"failfast": true, "list": false, "shuffle": false, "parallel": false, "cpu": false, "timeout": false,
}

// whyNot is said of flags that somebody will ask for.
var whyNot = map[string]string{
	"race":         "the race detector needs cgo, and an extension is built without",
	"cover":        "coverage compiles the standard library anew each time; use go test itself",
	"coverprofile": "the jail keeps no file of a run; use go test itself",
	"cpuprofile":   "the jail keeps no file of a run; use go test itself",
	"memprofile":   "the jail keeps no file of a run; use go test itself",
	"fuzz":         "the jail keeps no corpus; use go test itself",
	"json":         "give --json before the --",
}

func testFlagNames() string {
	var names []string
	for name := range allowedTestFlags {
		names = append(names, "-"+name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// testFlags reads what stands after "--", each flag as -name=value afterwards.
func testFlags(args []string) (flags []string, timeout time.Duration, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		alone, allowed := allowedTestFlags[name]
		switch {
		case !strings.HasPrefix(arg, "-"):
			return nil, 0, usagef("%q after -- is no flag; test runs every package of the extension", arg)
		case whyNot[name] != "":
			return nil, 0, usagef("%s: %s", arg, whyNot[name])
		case !allowed:
			return nil, 0, usagef("%s is no flag that go test may be given here; there are %s", arg, testFlagNames())
		case !hasValue && alone:
			flags = append(flags, "-"+name)
			continue
		case !hasValue && len(args) == 0:
			return nil, 0, usagef("%s lacks its value", arg)
		case !hasValue:
			value, args = args[0], args[1:]
		}
		if name != "timeout" {
			flags = append(flags, "-"+name+"="+value)
			continue
		}
		timeout, err = time.ParseDuration(value)
		if err != nil || timeout <= 0 || timeout > build.MaxTestTimeout {
			return nil, 0, usagef("-timeout %s: give a time of at most %s, such as 30s", value, build.MaxTestTimeout)
		}
	}
	return flags, timeout, nil
}
