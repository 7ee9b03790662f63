package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/satellite"
)

const (
	startRounds = 200
	wrapRounds  = 60 // bubblewrap leaves the kernel a good deal to clear up

	startLimit = 1.3
	jailLimit  = 1.6
	wrapLimit  = 0.6
)

// starts is what the figures of a start need: the artifact of the echo tool as a file and as an image.
type starts struct {
	artifact string
	image    *jail.Image
	env      []string
	null     *os.File
}

func newStarts(ctx context.Context, artifact string) (_ *starts, err error) {
	s := &starts{artifact: artifact}
	if s.image, err = seal(artifact); err != nil {
		return nil, err
	}
	if s.env, err = environment(ctx, s.image); err == nil {
		s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0)
	}
	if err != nil {
		_ = s.image.Close()
		return nil, err
	}
	return s, nil
}

func (s *starts) close() {
	_ = s.image.Close()
	_ = s.null.Close()
}

// firstAnswer is the start of a satellite outside any jail against that of a program that has nothing to set up. The tool
// echoes, so that the time is the satellite's own; what a tool that decodes and encodes JSON adds at its first call is told
// beside it.
func firstAnswer(ctx context.Context, b *bed) (row, error) {
	frame := append([]byte{0, 0, 0, byte(len(forecastArgs))}, forecastArgs...)
	against := func(artifact, tool string) (sample, error) {
		s, err := newStarts(ctx, artifact)
		if err != nil {
			return sample{}, err
		}
		defer s.close()
		return compare(ctx, startRounds,
			func(context.Context) (time.Duration, error) { return startBare(b.bare, frame, s.null) },
			first(unjailed(artifact, s.env, s.null), tool))
	}
	s, err := against(b.echo, echoTool)
	if err != nil {
		return row{}, err
	}
	typed, err := against(b.artifact(forecastTool), forecastTool)
	if err != nil {
		return row{}, err
	}
	return ratioRow(s, most(startLimit), fmt.Sprintf("%s; %.2f with a tool that decodes and encodes JSON", behind(s), typed.ratio())), nil
}

// jailedStart is what the jail adds to that.
func jailedStart(ctx context.Context, b *bed) (row, error) {
	s, err := newStarts(ctx, b.echo)
	if err != nil {
		return row{}, err
	}
	defer s.close()
	found, err := compare(ctx, startRounds, first(unjailed(s.artifact, s.env, s.null), echoTool), s.launch)
	if err != nil {
		return row{}, err
	}
	return ratioRow(found, most(jailLimit), behind(found)), nil
}

// wrappedStart is the jail against another one around the same program.
func wrappedStart(ctx context.Context, b *bed) (row, error) {
	program, err := exec.LookPath(bubblewrap)
	if err != nil {
		return unmetRow(most(wrapLimit), "needs bubblewrap"), nil
	}
	s, err := newStarts(ctx, b.echo)
	if err != nil {
		return row{}, err
	}
	defer s.close()
	found, err := compare(ctx, wrapRounds, first(wrapped(program, s.artifact, s.env, s.null), echoTool), s.launch)
	if err != nil {
		return row{}, err
	}
	return ratioRow(found, most(wrapLimit), behind(found)), nil
}

// launch starts a satellite of the image as a host does, calls its tool, and waits outside the measured time until nothing of
// it is left.
func (s *starts) launch(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	sat, err := satellite.Launch(ctx, satellite.Config{Image: s.image})
	if err != nil {
		return 0, err
	}
	_, err = sat.Tool(ctx, echoTool, []byte(forecastArgs), "", 0)
	took := time.Since(start)
	sat.Close()
	return took, err
}

// first is the time from before a start to the first answer of the tool.
func first(begin starter, tool string) op {
	return func(ctx context.Context) (time.Duration, error) {
		start := time.Now()
		d, err := begin(ctx)
		if err != nil {
			return 0, err
		}
		err = d.call(tool, []byte(forecastArgs))
		took := time.Since(start)
		if endErr := d.close(); err == nil {
			err = endErr
		}
		return took, err
	}
}

// startBare starts a program with one end of a socket pair, sends it a frame and reads the same frame back.
func startBare(program string, frame []byte, null *os.File) (time.Duration, error) {
	start := time.Now()
	ours, theirs, err := socketPair()
	if err != nil {
		return 0, err
	}
	defer ours.Close()
	child, err := os.StartProcess(program, []string{program}, &os.ProcAttr{Env: []string{}, Files: []*os.File{null, null, null, theirs}})
	_ = theirs.Close()
	if err != nil {
		return 0, err
	}
	back := make([]byte, len(frame))
	_, err = ours.Write(frame)
	if err == nil {
		_, err = io.ReadFull(ours, back)
	}
	took := time.Since(start)
	if err == nil && string(back) != string(frame) {
		err = fmt.Errorf("%s answered something else", program)
	}
	_ = ours.Close()
	if _, waitErr := child.Wait(); err == nil {
		err = waitErr
	}
	return took, err
}
