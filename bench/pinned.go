package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
)

// inPinnedChild takes a sample in a child of its own that has one core, because a process cannot take back how many cores it
// counted when it started.
func inPinnedChild(ctx context.Context, role string, args ...string) (sample, error) {
	self, err := os.Executable()
	if err != nil {
		return sample{}, err
	}
	out, err := pinned(ctx, self, append([]string{"-role", role}, args...)...)
	if err != nil {
		return sample{}, fmt.Errorf("the pinned child: %w", err)
	}
	return decodeSample(out)
}

// servePinned is the pinned child: it prints one sample.
func servePinned(ctx context.Context, role string, args []string) int {
	take, known := map[string]func(context.Context, []string) (sample, error){
		roleRoundTrip: takeRoundTrip, roleJailedTrip: takeJailedTrip, roleAhead: takeAhead,
	}[role]
	if !known {
		fmt.Fprintf(os.Stderr, "bench: no role %q\n", role)
		return exitUsage
	}
	var s sample
	err := error(nil)
	if n := runtime.GOMAXPROCS(0); n != 1 {
		err = fmt.Errorf("it may use %d cores and not one", n)
	} else {
		s, err = take(ctx, args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: pinned child:", err)
		return exitFault
	}
	os.Stdout.Write(s.encode())
	return exitFine
}
