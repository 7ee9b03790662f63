package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/gen"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/satellite"
	"github.com/loomext/loomext/source"
	"github.com/loomext/loomext/vet"
)

// The sample is a whole extension, as small as one can be. It goes through the pieces that an
// install is made of, and is not installed.
const (
	sampleName = "loomext_doctor"
	sampleTool = "echo"
	// sampleManifest is written like an author's.
	sampleManifest = `[extension]
name        = "loomext_doctor"
version     = "1.0.0"
description = "Answers with what it is asked."
license     = "Apache-2.0"
tier        = "jailed"
requests    = []

[[tool]]
name           = "echo"
description    = "Answers with the text it is given."
prompt_snippet = "echo: answer with a text"
parameters     = "schema/echo.json"
entry          = "echo"
`
	sampleSchema = `{"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
`
	sampleSource = `package echo

import "github.com/loomext/loomext/prelude/ext"

type request struct {
	Text string ` + "`json:\"text\"`" + `
}

// Run answers with the text it is given.
var Run = ext.Typed(func(_ ext.Ctx, r request) (ext.Outcome, error) {
	return ext.Text(r.Text), nil
})
`
)

const (
	// sampleCalls are timed after the first, one after the other.
	sampleCalls = 200
	// sampleDeadline is what each has, and sampleWall all of them.
	sampleDeadline = 10 * time.Second
	sampleWall     = time.Minute
	// sampleText makes a message of about a KiB.
	sampleText = 1000
)

// buildSample takes the sample from its source to a satellite. What an earlier doctor left in
// the cache is no proof that a build works, so it is then built once more and must come out
// the same.
func (e *examination) buildSample(ctx context.Context) (build.Artifact, error) {
	tree, err := source.FromFiles(map[string][]byte{
		manifest.FileName: []byte(sampleManifest), "schema/echo.json": []byte(sampleSchema), "echo/echo.go": []byte(sampleSource),
	}, "loomext doctor")
	if err != nil {
		return build.Artifact{}, &install.Error{Layer: install.LayerExtract, Err: err}
	}
	m, manifestErr := manifest.Decode([]byte(sampleManifest), tree)
	if manifestErr != nil {
		return build.Artifact{}, &install.Error{Layer: install.LayerManifest, Err: manifestErr}
	}
	pkg, err := vet.Syntax(ctx, tree, m)
	if err != nil {
		return build.Artifact{}, &install.Error{Layer: install.LayerVetting, Err: err}
	}
	root, err := pkg.Root(m.Config())
	if err != nil {
		return build.Artifact{}, &install.Error{Layer: install.LayerGenerate, Err: err}
	}
	began := time.Now()
	want := gen.Declare(m, m.Config())
	a, err := e.builder.Build(ctx, root, want)
	if err != nil {
		return a, err
	}
	if a.Cached {
		began = time.Now()
		digest, err := e.builder.Rebuild(ctx, root, want)
		if err != nil {
			return a, err
		}
		if digest != a.Digest {
			return a, &advice{
				what: fmt.Sprintf("a build of the same source gave %s before and %s now", a.Digest, digest),
				fix:  "remove " + e.result.Cache.Dir + ", and report it if it happens again",
			}
		}
	}
	e.result.Build = &doctorBuild{Digest: a.Digest, Size: a.Size, TookMS: took(began), Level: string(e.around)}
	return a, nil
}

func (e *examination) buildDetail() string {
	b := e.result.Build
	if b == nil {
		return ""
	}
	return fmt.Sprintf("a small extension of %s in %s, at level %s", bytesText(b.Size), roundedTime(time.Duration(b.TookMS)*time.Millisecond), b.Level)
}

// callSample launches the satellite and calls it, and takes the times.
func (e *examination) callSample(ctx context.Context, a build.Artifact) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, sampleWall)
	defer cancel()
	image, err := jail.Seal(a.Path, a.Digest)
	if err != nil {
		return "", err
	}
	defer image.Close()
	text := string(bytes.Repeat([]byte("o"), sampleText))
	args := fmt.Appendf(nil, `{"text":%q}`, text)

	began := time.Now()
	sat, err := satellite.Launch(ctx, satellite.Config{Image: image, Jail: e.builder.Jail})
	if err != nil {
		return "", err
	}
	defer sat.Close()
	e.c.noteJail(sat.Report())
	call := func() error {
		outcome, err := sat.Tool(ctx, sampleTool, args, "", sampleDeadline)
		if err != nil {
			return fmt.Errorf("the satellite did not answer: %w", err)
		}
		if len(outcome.Content) != 1 || string(outcome.Content[0].Body) != text {
			return errors.New("the satellite answered something else than it was asked for")
		}
		return nil
	}
	if err := call(); err != nil {
		return "", err
	}
	first := time.Since(began)
	times := make([]time.Duration, sampleCalls)
	for i := range times {
		began := time.Now()
		if err := call(); err != nil {
			return "", err
		}
		times[i] = time.Since(began)
	}
	slices.Sort(times)
	median := times[len(times)/2]
	e.result.RoundTrip = &doctorRoundTrip{FirstUS: first.Microseconds(), MedianUS: median.Microseconds(), Calls: sampleCalls}
	return fmt.Sprintf("first answer %s after the start, then one in %s (median of %d, 1 KB each way)",
		first.Round(10*time.Microsecond), median.Round(time.Microsecond), sampleCalls), nil
}
