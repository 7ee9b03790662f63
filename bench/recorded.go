package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/record"
	"github.com/loomext/loomext/replay"
	"github.com/loomext/loomext/satellite"
)

const (
	roleRecorded = "recorded"
	roleReplayed = "replayed"

	recordLimit = 1.1
	replayLimit = 1.5

	// A call with an effect is as long as some time slices' worth of echoes, and each leaves three lines.
	recordBatch, recordRounds = 10, 800
	replayCalls, replayRounds = 1000, 15
)

// storeOnce are the arguments of a call with one effect.
var storeOnce = []byte(`{"times":1}`)

// recorded is what the record costs a call of a tool with one effect, of which nothing waits for anything.
func recorded(ctx context.Context, b *bed) (row, error) {
	s, err := inPinnedChild(ctx, roleRecorded, b.path("home"), b.path("records"))
	if err != nil {
		return row{}, err
	}
	return ratioRow(s, most(recordLimit), behind(s)), nil
}

func takeRecorded(ctx context.Context, args []string) (_ sample, err error) {
	if len(args) != 2 {
		return sample{}, errors.New("want a home and a directory for records")
	}
	plain, err := openHosted(ctx, args[0], config.Default(), callerExtension)
	if err != nil {
		return sample{}, err
	}
	defer plain.close()
	w, err := openRecord(args[1], "recorded.jsonl")
	if err != nil {
		return sample{}, err
	}
	defer func() { err = errors.Join(err, w.Close(), os.RemoveAll(args[1])) }()
	noted, err := openHostedOn(ctx, args[0], config.Default(), host.SessionOptions{Extensions: []string{callerExtension}, Record: w})
	if err != nil {
		return sample{}, err
	}
	defer noted.close()
	once := func(h *hosted) func() error {
		store := h.caller(ctx, storeTool)
		return func() error { return store(1) }
	}
	return compare(ctx, recordRounds, batches(recordBatch, once(plain)), batches(recordBatch, once(noted)))
}

func openRecord(dir, name string) (*record.Writer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return record.Open(filepath.Join(dir, name))
}

// replayed is what a replay takes against the invocations alone: both start a satellite and make the same calls, and one of
// them reads them from a record and compares what comes of them.
func replayed(ctx context.Context, b *bed) (row, error) {
	var s sample
	if err := inChild(ctx, twoCores, roleReplayed, &s, b.path("home"), b.path("records")); err != nil {
		return row{}, err
	}
	return ratioRow(s, most(replayLimit), fmt.Sprintf("%s, for a call %s ÷ %s", behind(s), duration(s.Ours/replayCalls), duration(s.Floor/replayCalls))), nil
}

func takeReplayed(ctx context.Context, args []string) (_ sample, err error) {
	if len(args) != 2 {
		return sample{}, errors.New("want a home and a directory for records")
	}
	defer func() { err = errors.Join(err, os.RemoveAll(args[1])) }()
	if err := recordCalls(ctx, args[0], args[1]); err != nil {
		return sample{}, err
	}
	installed, err := install.Open(args[0]).LoadImage(ctx, callerExtension)
	if err != nil {
		return sample{}, err
	}
	defer installed.Close()
	return compare(ctx, replayRounds, bareCalls(installed), replayOf(installed, filepath.Join(args[1], "replayed.jsonl")))
}

// recordCalls leaves a record of a session.
func recordCalls(ctx context.Context, home, dir string) error {
	w, err := openRecord(dir, "replayed.jsonl")
	if err != nil {
		return err
	}
	h, err := openHostedOn(ctx, home, config.Default(), host.SessionOptions{Extensions: []string{callerExtension}, Record: w})
	if err != nil {
		return errors.Join(err, w.Close())
	}
	store := h.caller(ctx, storeTool)
	for range replayCalls {
		if err := store(1); err != nil {
			h.close()
			return errors.Join(err, w.Close())
		}
	}
	h.close()
	return w.Close()
}

// bareCalls makes the calls of a satellite, and answers their effects with the same each time.
func bareCalls(installed *install.Installed) op {
	done := wire.Result{OK: true, Value: wire.Map()}
	return func(ctx context.Context) (time.Duration, error) {
		start := time.Now()
		sat, err := satellite.Launch(ctx, satellite.Config{Image: installed.Image, Limits: installed.Record.Limits()})
		if err != nil {
			return 0, err
		}
		defer sat.Close()
		for range replayCalls {
			call := satellite.ToolCall(storeTool, storeOnce, "")
			call.Deadline = callerTime
			call.Effects = func(context.Context, satellite.CapCall) wire.Result { return done }
			call.Prompt = func(string) bool { return true }
			if _, err := sat.Invoke(ctx, call); err != nil {
				return 0, err
			}
		}
		return time.Since(start), nil
	}
}

func replayOf(installed *install.Installed, path string) op {
	return func(ctx context.Context) (time.Duration, error) {
		start := time.Now()
		r, err := record.Read(path)
		if err != nil {
			return 0, err
		}
		defer r.Close()
		against := func(string) (*install.Installed, error) { return installed, nil }
		summary, err := replay.New(replay.Options{Against: against}).Run(ctx, r, func(replay.Result) error { return nil })
		if err == nil && summary != (replay.Summary{Same: replayCalls}) {
			err = fmt.Errorf("a replay of its own record: %+v", summary)
		}
		return time.Since(start), err
	}
}
