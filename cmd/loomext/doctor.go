package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
)

// doctorResult is what doctor --json prints. docs/cli.md describes it.
type doctorResult struct {
	OK         bool             `json:"ok"`
	Complete   bool             `json:"complete"`
	BestEffort bool             `json:"best_effort"`
	Machine    doctorMachine    `json:"machine"`
	Checks     []doctorCheck    `json:"checks"`
	Jail       doctorJail       `json:"jail"`
	Toolchain  *doctorToolchain `json:"toolchain"`
	Cache      doctorCache      `json:"cache"`
	Store      doctorStore      `json:"store"`
	Build      *doctorBuild     `json:"build"`
	RoundTrip  *doctorRoundTrip `json:"round_trip"`
}

type doctorMachine struct {
	Platform     string `json:"platform"`
	Kernel       string `json:"kernel"`
	Distribution string `json:"distribution"`
	Container    string `json:"container"`
}

// doctorCheck is one check: its state is one of a verification's.
type doctorCheck struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Detail string `json:"detail"`
	Remedy string `json:"remedy"`
}

// doctorJail is what a satellite gets here. The level is empty where nothing can be started.
type doctorJail struct {
	Level  jail.Level    `json:"level"`
	Layers []doctorLayer `json:"layers"`
}

// doctorLayer is a jail.Layer with every key there.
type doctorLayer struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Reason string `json:"reason"`
	Errno  string `json:"errno"`
	Remedy string `json:"remedy"`
}

type doctorToolchain struct {
	Go      string `json:"go"`
	GoRoot  string `json:"goroot"`
	Version string `json:"version"`
	Needs   string `json:"needs"`
}

type doctorCache struct {
	Dir       string `json:"dir"`
	FreeBytes int64  `json:"free_bytes"`
}

type doctorStore struct {
	Home       string   `json:"home"`
	Extensions int      `json:"extensions"`
	Damaged    []string `json:"damaged"`
}

type doctorBuild struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	TookMS int64  `json:"took_ms"`
	Level  string `json:"level"`
}

type doctorRoundTrip struct {
	FirstUS  int64 `json:"first_answer_us"`
	MedianUS int64 `json:"median_us"`
	Calls    int   `json:"calls"`
}

// The checks, in order.
const (
	checkJail      = "jail"
	checkToolchain = "toolchain"
	checkCache     = "cache"
	checkStore     = "store"
	checkBuild     = "build"
	checkRoundTrip = "round trip"
)

func (c *cli) doctorCommand() *cobra.Command {
	var noBuild, asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check what this machine can enforce, and that an install and a call work",
		Long: `doctor does for real what an install and a call need: it launches a program behind every
wall of the jail, asks the Go toolchain for its version, looks at the build cache and the store,
builds a small extension of its own in the jail, and calls it. What is missing is told with what
the kernel answered and what to do about it. Nothing is installed; the build cache is filled
as by an install.

The exit status is 0 only where an install and a call work here without --best-effort. With that
flag they are judged, and made, at the weaker level that it accepts. --no-build leaves out the
build and the call: then 0 says only that what was checked is in order.

Exit statuses: 0; 2 usage; else that of the first check that failed: 18 jail, 15 toolchain,
cache or build, 16 store, 18 or 19 round trip. See "loomext help exitcodes".`,
		Example:           "  loomext doctor\n  loomext doctor --json\n  loomext doctor --no-build --best-effort",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.addBestEffort(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&noBuild, "no-build", false, "build and call nothing; the checks say so")
	flags.BoolVar(&asJSON, "json", false, "print what was found as JSON")
	cmd.RunE = ran(func(cmd *cobra.Command, _ []string) error {
		return c.doctor(cmd.Context(), noBuild, asJSON)
	})
	return cmd
}

// doctor makes every check, prints what was found and ends with the status of the first that
// failed.
func (c *cli) doctor(ctx context.Context, noBuild, asJSON bool) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	e := newExamination(c, store)
	if err := e.run(ctx, noBuild); err != nil {
		return err
	}
	if asJSON {
		err = c.printJSON(e.result)
	} else {
		err = c.printf("%s", doctorText(e.result, c.colorsOf(c.out)))
	}
	if err != nil {
		return err
	}
	return e.verdict()
}

// examination is one run of doctor: what was found, and the layer of the first check that failed.
type examination struct {
	c       *cli
	store   *install.Store
	builder *build.Builder
	result  doctorResult
	around  jail.Level // of the last compiler run
	faults  []string   // a line for each check that failed
	first   install.Layer
}

func newExamination(c *cli, store *install.Store) *examination {
	e := &examination{c: c, store: store, builder: c.builder()}
	e.builder.Jailed = func(r jail.Report) {
		if r.Level != "" {
			e.around = r.Level
		}
		c.noteJail(r)
	}
	about := jail.ThisMachine()
	e.result = doctorResult{
		OK: true, Complete: true, BestEffort: c.jail.BestEffort, Checks: []doctorCheck{},
		Jail: doctorJail{Layers: []doctorLayer{}}, Store: doctorStore{Damaged: []string{}},
		Machine: doctorMachine{
			Platform: runtime.GOOS + "/" + runtime.GOARCH, Kernel: about.Kernel, Distribution: about.Distribution, Container: about.Container,
		},
	}
	return e
}

// run makes the checks in order. It fails only where ctx ended.
func (e *examination) run(ctx context.Context, noBuild bool) error {
	jailed := e.check(checkJail, install.LayerJail, e.checkJail)
	compiles := e.check(checkToolchain, install.LayerCompile, func() (string, error) { return e.checkToolchain(ctx) })
	caches := e.check(checkCache, install.LayerCompile, e.checkCache)
	e.check(checkStore, install.LayerRecord, func() (string, error) { return e.checkStore(ctx) })
	var a build.Artifact
	why := ""
	for _, need := range []struct {
		missing bool
		why     string
	}{{noBuild, "--no-build"}, {!jailed, "there is no jail to build in"}, {!compiles, "there is no toolchain"}, {!caches, "there is no cache"}} {
		if need.missing && why == "" {
			why = need.why
		}
	}
	switch {
	case ctx.Err() != nil:
	case why != "":
		e.leave(checkBuild, why)
		e.leave(checkRoundTrip, why)
	case !e.check(checkBuild, install.LayerCompile, func() (_ string, err error) { a, err = e.buildSample(ctx); return e.buildDetail(), err }):
		e.leave(checkRoundTrip, "there is nothing to call")
	default:
		e.check(checkRoundTrip, install.LayerHost, func() (string, error) { return e.callSample(ctx, a) })
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// check makes one check and keeps what it found: its detail, or the parts of its error.
func (e *examination) check(name string, layer install.Layer, f func() (string, error)) bool {
	e.c.showStep(install.Progress{Layer: install.Layer(name), Text: "check"})
	detail, err := f()
	e.c.showStep(install.Progress{Layer: install.Layer(name), Done: true})
	found := doctorCheck{Name: name, State: install.StateOK, Detail: detail}
	if err != nil {
		found.State = install.StateFailed
		found.Detail, found.Remedy = partsOf(err)
		var refusal *install.Error
		var fault *jail.Error
		switch {
		case errors.As(err, &refusal):
			layer = refusal.Layer
		case errors.As(err, &fault):
			layer = install.LayerJail
		}
		found.Detail = bare(found.Detail, layer)
		if e.result.OK {
			e.first = layer
		}
		e.result.OK = false
		e.faults = append(e.faults, faultLine(layer, found))
	}
	e.result.Checks = append(e.result.Checks, found)
	return err == nil
}

// bare is an error's text without the layer that its lines begin with.
func bare(text string, layer install.Layer) string {
	prefix := string(layer) + ": "
	return strings.ReplaceAll(strings.TrimPrefix(text, prefix), "\n"+prefix, "\n")
}

// leave notes a check that is not made.
func (e *examination) leave(name, why string) {
	e.result.Complete = false
	e.result.Checks = append(e.result.Checks, doctorCheck{Name: name, State: install.StateSkipped, Detail: why})
}

// verdict is the error of an examination that found a fault, after a line for each.
func (e *examination) verdict() error {
	if e.result.OK {
		return nil
	}
	for _, line := range e.faults {
		e.c.errorf("%s\n", line)
	}
	return &statusError{status: e.first.ExitStatus()}
}

// faultLine is a failed check as an error line, escaped.
func faultLine(layer install.Layer, found doctorCheck) string {
	line := string(layer) + ": "
	if found.Name != string(layer) {
		line += found.Name + ": "
	}
	line += escape.Indented(found.Detail, "  ")
	if found.Remedy != "" {
		line += "; " + escape.Line(found.Remedy)
	}
	return line
}

// checkJail is what a launch found that ended at once.
func (e *examination) checkJail() (string, error) {
	r := jail.Inspect()
	for _, l := range r.Layers {
		e.result.Jail.Layers = append(e.result.Jail.Layers, doctorLayer(l))
	}
	level := r.Level
	e.result.Jail.Level = level
	switch {
	case level == "":
		return "", &install.Error{Layer: install.LayerJail, Err: nothingStarts(e.result.Jail)}
	case level.Default():
		return "level " + string(level), nil
	case e.result.BestEffort:
		return "level " + string(level) + ", which --best-effort accepts", nil
	}
	return "", weaker(e.result.Jail)
}

// nothingStarts is the one layer of such a report that says more than that.
func nothingStarts(r doctorJail) error {
	for _, l := range r.Layers {
		if l.Errno != "" || l.Remedy != "" {
			return &advice{what: "nothing can be started: " + l.Name + ": " + layerReason(l), fix: l.Remedy}
		}
	}
	return &advice{what: "nothing can be started", fix: "run on Linux, on amd64 or arm64"}
}

// weaker is about a level that an install and a call do not accept by themselves.
func weaker(r doctorJail) error {
	missing, fixes := []string{}, []string{}
	for _, l := range r.Layers {
		if l.State == jail.Enforced || !forgoable[l.Name] {
			continue
		}
		missing = append(missing, l.Name+": "+layerReason(l))
		if l.Remedy != "" {
			fixes = append(fixes, l.Remedy)
		}
	}
	fixes = append(fixes, "accept the weaker level with --best-effort")
	return &advice{
		what: "only level " + string(r.Level) + ": " + strings.Join(missing, ", "),
		fix:  strings.Join(fixes, ", or "),
	}
}

// layerReason is why a layer was skipped, with what the kernel answered.
func layerReason(l doctorLayer) string {
	if l.Errno == "" {
		return l.Reason
	}
	return fmt.Sprintf("%s (%s)", l.Reason, l.Errno)
}

// advice is an error that keeps what to do apart from what is wrong.
type advice struct{ what, fix string }

func (a *advice) Error() string {
	if a.fix == "" {
		return a.what
	}
	return a.what + "; " + a.fix
}

// partsOf takes an error apart into what is wrong and what to do.
func partsOf(err error) (what, fix string) {
	var (
		own     *advice
		fault   *jail.Error
		failure *build.Error
	)
	switch {
	case errors.As(err, &own):
		return own.what, own.fix
	case errors.As(err, &fault):
		unfixed := *fault
		unfixed.Fix = ""
		return unfixed.Error(), fault.Fix
	case errors.As(err, &failure) && len(failure.Findings) == 0:
		unfixed := *failure
		unfixed.Fix = ""
		return unfixed.Error(), failure.Fix
	}
	return err.Error(), ""
}

// took is a duration in whole milliseconds, at least one.
func took(since time.Time) int64 { return max(time.Since(since).Milliseconds(), 1) }
