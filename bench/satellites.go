package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

const (
	allocationRuns  = 2000
	allocationLimit = 10

	mebibyte      = 1 << 20
	artifactLimit = 2.6 // MiB
	megabyte      = 1e6
	memoryLimit   = 3.5 // MB

	// A resident size that was the same for restReads in a row is at rest. The first of them come while the runtime still
	// starts threads.
	restReads = 10
	restPause = 50 * time.Millisecond
	restWait  = 20 * time.Second
)

// forecastTool is the one tool of the forecast extension, and forecastArgs are arguments that fit it.
const (
	forecastTool = "forecast"
	forecastArgs = `{"city":"Reykjavík","days":3}`
)

// repeated is a stream of one frame, over and over.
type repeated struct{ frame, rest []byte }

func (r *repeated) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		r.rest = r.frame
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// hostAllocations counts what the wire alone allocates, and beside it what a whole call does.
func hostAllocations(ctx context.Context, b *bed) (row, error) {
	text := jsonText(smallArgs)
	answer, err := wire.AppendResult(nil, wire.KindHookResult, 1, toolResult(text))
	if err != nil {
		return row{}, err
	}
	reader := wire.NewReader(&repeated{frame: answer}, wire.Host)
	var frame []byte
	onWire := testing.AllocsPerRun(allocationRuns, func() {
		var f wire.Frame
		if frame, err = wire.AppendHookCall(frame[:0], 1, toolCall(text)); err == nil {
			f, err = reader.Read()
		}
		if err == nil && !f.Result.OK {
			err = f.Result.Fault
		}
		if err != nil {
			panic(err) // of our own frames
		}
	})
	s, err := launch(ctx, b.echo)
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	whole := testing.AllocsPerRun(allocationRuns, func() {
		if err == nil {
			_, err = s.Tool(ctx, echoTool, text, "", 0)
		}
	})
	if err != nil {
		return row{}, err
	}
	return row{
		measured: strconv.FormatFloat(onWire, 'f', 0, 64), floors: exact, limit: most(allocationLimit).in(""),
		verdict: most(allocationLimit).judge(onWire), note: fmt.Sprintf("%.0f in a whole call of a tool", whole),
	}, nil
}

// artifactSize is the size of the installed file.
func artifactSize(_ context.Context, b *bed) (row, error) {
	info, err := os.Stat(b.artifact(forecastTool))
	if err != nil {
		return row{}, err
	}
	size := float64(info.Size()) / mebibyte
	return row{
		measured: fmt.Sprintf("%.2f MiB", size), floors: exact, limit: most(artifactLimit).in("MiB"),
		verdict: most(artifactLimit).judge(size), note: fmt.Sprintf("%d bytes", info.Size()),
	}, nil
}

// idleMemory is what a satellite holds that has answered a call and waits for the next.
func idleMemory(ctx context.Context, b *bed) (row, error) {
	s, err := launch(ctx, b.artifact(forecastTool))
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	if _, err := s.Tool(ctx, forecastTool, []byte(forecastArgs), "", 0); err != nil {
		return row{}, err
	}
	r, err := atRest(ctx, s.PID())
	if err != nil {
		return row{}, err
	}
	size := float64(r.total) / megabyte
	return row{
		measured: fmt.Sprintf("%.2f MB", size), floors: exact, limit: most(memoryLimit).in("MB"),
		verdict: most(memoryLimit).judge(size),
		note:    fmt.Sprintf("%.2f MB of it its own, the rest pages of the file", float64(r.own)/megabyte),
	}, nil
}

// resident is the memory of a process in bytes.
type resident struct{ total, own int64 }

// atRest reads the resident memory of a process until it has stopped changing.
func atRest(ctx context.Context, pid int) (resident, error) {
	ctx, cancel := context.WithTimeout(ctx, restWait)
	defer cancel()
	var have resident
	for same := 0; same < restReads; {
		r, err := residentOf(pid)
		if err != nil {
			return r, err
		}
		if same++; r != have {
			have, same = r, 1
		}
		select {
		case <-ctx.Done():
			return have, fmt.Errorf("the resident memory of the satellite does not come to rest: %w", ctx.Err())
		case <-time.After(restPause):
		}
	}
	return have, nil
}

func residentOf(pid int) (resident, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return resident{}, err
	}
	kilobytes := func(name string) int64 {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, name+":"); ok {
				n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				return n << 10
			}
		}
		return 0
	}
	r := resident{total: kilobytes("VmRSS"), own: kilobytes("RssAnon")}
	if r.total == 0 {
		return r, fmt.Errorf("/proc/%d/status does not say VmRSS", pid)
	}
	return r, nil
}
