package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
)

// The children that figures are taken in.
const (
	oneCore  = 1
	twoCores = 2
)

// roles are what a pinned child can be asked to find.
var roles = map[string]func(context.Context, []string) (any, error){
	roleRoundTrip:  found(takeRoundTrip),
	roleJailedTrip: found(takeJailedTrip),
	roleAhead:      found(takeAhead),
	roleSession:    found(takeSession),
	roleEffect:     found(takeEffect),
	rolePeer:       found(takePeer),
	roleMCPServed:  found(takeMCPServed),
	roleRequest:    found(takeRequest),
	roleSessions:   found(takeSessions),
	roleRecorded:   found(takeRecorded),
	roleReplayed:   found(takeReplayed),
	roleRead:       found(takeRead),
	rolePath:       found(takePath),
	roleGate:       found(takeGate),
	roleFold:       found(takeFold),
	roleUndeclared: found(takeUndeclared),
}

func found[T any](take func(context.Context, []string) (T, error)) func(context.Context, []string) (any, error) {
	return func(ctx context.Context, args []string) (any, error) { return take(ctx, args) }
}

// inPinnedChild takes a sample in a child of its own that has one core, because a process cannot take back how many cores it
// counted when it started.
func inPinnedChild(ctx context.Context, role string, args ...string) (sample, error) {
	var s sample
	err := inChild(ctx, oneCore, role, &s, args...)
	return s, err
}

// inChild has a child with so many cores find something, or with all that there are where they are fewer, and puts it into what
// is given.
func inChild(ctx context.Context, cores int, role string, into any, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := pinned(ctx, cores, self, append([]string{"-role", role, "-cores", strconv.Itoa(cores)}, args...)...)
	if err != nil {
		return fmt.Errorf("the pinned child: %w", err)
	}
	return decode(out, into)
}

// servePinned is the pinned child: it prints what it found.
func servePinned(ctx context.Context, role string, cores int, args []string) int {
	take, known := roles[role]
	if !known {
		fmt.Fprintf(os.Stderr, "bench: no role %q\n", role)
		return exitUsage
	}
	err := fmt.Errorf("it may use %d cores and not %d", runtime.GOMAXPROCS(0), cores)
	var answer any
	if runtime.GOMAXPROCS(0) <= cores {
		answer, err = take(ctx, args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: pinned child:", err)
		return exitFault
	}
	os.Stdout.Write(encode(answer))
	return exitFine
}

// encode and decode carry what a pinned child found to its parent.
func encode(answer any) []byte {
	text, _ := json.Marshal(answer) // numbers alone
	return text
}

func decode(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the pinned child said %.100q: %w", text, err)
	}
	return nil
}
