package main

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/jail"
)

// testOutput takes what a run writes and hands it on line by line, so that a line can be
// escaped, or decoded, whole.
type testOutput struct {
	line        func(string) error
	pending     []byte
	buildFailed bool // go test said so of a package
}

// longestLine is how much of a line is waited for. A longer one is handed on in parts.
const longestLine = 1 << 20

func (o *testOutput) Write(p []byte) (int, error) {
	o.pending = append(o.pending, p...)
	for {
		end := bytes.IndexByte(o.pending, '\n') + 1
		if end == 0 && len(o.pending) > longestLine {
			end = longestLine
		}
		if end == 0 {
			return len(p), nil
		}
		if err := o.hand(string(o.pending[:end])); err != nil {
			return 0, err
		}
		o.pending = o.pending[end:]
	}
}

// flush hands on a last line without its end.
func (o *testOutput) flush() error {
	if len(o.pending) == 0 {
		return nil
	}
	rest := string(o.pending)
	o.pending = nil
	return o.hand(rest)
}

func (o *testOutput) hand(line string) error {
	if strings.HasPrefix(line, "FAIL\t") && (strings.HasSuffix(line, " [build failed]\n") || strings.HasSuffix(line, " [setup failed]\n")) {
		o.buildFailed = true
	}
	return o.line(line)
}

// testResult is what test --json prints. docs/cli.md describes it.
type testResult struct {
	OK          bool          `json:"ok"`
	Dir         string        `json:"dir"`
	Module      string        `json:"module"`
	Packages    []testPackage `json:"packages"`
	BuildOutput string        `json:"build_output"`
	Bound       string        `json:"bound"`
	TookMS      int64         `json:"took_ms"`
	JailLevel   jail.Level    `json:"jail_level"`
}

// testPackage is one package and its tests.
type testPackage struct {
	Package  string        `json:"package"`
	Result   string        `json:"result"` // "pass", "fail", "skip", "build"
	TookMS   int64         `json:"took_ms"`
	Passed   int           `json:"passed"`
	Failed   int           `json:"failed"`
	Skipped  int           `json:"skipped"`
	Failures []testFailure `json:"failures"`

	said map[string]*strings.Builder // by test, until it is known to have passed
}

// testFailure is one test that failed, or the package itself where the name is empty.
type testFailure struct {
	Test   string `json:"test"`
	Output string `json:"output"`
}

// testSummary gathers the events of go test -json.
type testSummary struct {
	packages map[string]*testPackage
	build    strings.Builder
	kept     int
}

const (
	// maxTestOutput is how much is kept of what one test wrote, and maxSummary of all of them:
	// what somebody reads.
	maxTestOutput = 64 << 10
	maxSummary    = 4 << 20
	// maxTestPackages is more than a tree has files for.
	maxTestPackages = 4000
)

// event reads one line. Tests write what they like, so a line that is no event is passed over.
func (s *testSummary) event(line string) error {
	var e struct {
		Action, Package, Test, Output, FailedBuild string
		Elapsed                                    float64
	}
	if json.Unmarshal([]byte(line), &e) != nil {
		return nil
	}
	if e.Action == "build-output" {
		s.keep(&s.build, e.Output)
		return nil
	}
	if e.Package == "" {
		return nil
	}
	p := s.packages[e.Package]
	if p == nil {
		if len(s.packages) == maxTestPackages {
			return nil
		}
		p = &testPackage{Package: e.Package, Failures: []testFailure{}, said: map[string]*strings.Builder{}}
		s.packages[e.Package] = p
	}
	switch e.Action {
	case "output":
		if p.said[e.Test] == nil {
			p.said[e.Test] = &strings.Builder{}
		}
		s.keep(p.said[e.Test], e.Output)
	case "pass", "fail", "skip":
		p.ended(e.Test, e.Action, time.Duration(e.Elapsed*float64(time.Second)))
		if e.FailedBuild != "" {
			p.Result = "build"
		}
		if said := p.said[e.Test]; said != nil {
			if e.Action == "fail" {
				p.Failures = append(p.Failures, testFailure{Test: e.Test, Output: said.String()})
			} else {
				s.kept -= said.Len()
			}
			delete(p.said, e.Test)
		}
	}
	return nil
}

func (p *testPackage) ended(test, how string, took time.Duration) {
	switch {
	case test == "":
		p.Result, p.TookMS = how, took.Milliseconds()
	case how == "pass":
		p.Passed++
	case how == "fail":
		p.Failed++
	default:
		p.Skipped++
	}
}

// keep adds to a text as much as there is room for.
func (s *testSummary) keep(to *strings.Builder, text string) {
	text = text[:min(len(text), max(min(maxTestOutput-to.Len(), maxSummary-s.kept), 0))]
	s.kept += len(text)
	to.WriteString(strings.ToValidUTF8(text, "\uFFFD"))
}

// finishTestJSON prints the summary. The status is that of the run.
func (c *cli) finishTestJSON(ctx context.Context, dir, module string, s *testSummary, result build.TestResult, took time.Duration) error {
	doc := testResult{
		OK: result.Passed, Dir: dir, Module: module, Packages: []testPackage{}, Bound: result.Bound,
		BuildOutput: s.build.String() + strings.ToValidUTF8(result.Stderr, "\uFFFD"), TookMS: took.Milliseconds(), JailLevel: result.Report.Level,
	}
	buildFailed := false
	for _, name := range slices.Sorted(maps.Keys(s.packages)) {
		p := s.packages[name]
		if p.Result == "" {
			p.Result = "fail" // the run ended before it did
		}
		buildFailed = buildFailed || p.Result == "build"
		doc.Packages = append(doc.Packages, *p)
	}
	if err := c.printJSON(doc); err != nil {
		return err
	}
	if verdict := testVerdict(dir, result, buildFailed); verdict != nil {
		return &statusError{status: exitStatus(ctx, verdict)}
	}
	return nil
}
