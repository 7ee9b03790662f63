package main

import (
	"os"
	"strings"
	"testing"
)

// A result that is lost is told, and not as a fault of loomext's own.
func TestAResultThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"list", "--json"}, {"check", "--explain", "type"}, {"completion", "bash"}} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		var errs strings.Builder
		status := run(t.Context(), append(args, "--home", t.TempDir()), streams{in: strings.NewReader(""), out: full, err: &errs, env: environment()})
		_ = full.Close()
		if want := "output: the result could not be written: no space left on device; write it elsewhere; what the command did stands\n"; status != 1 || errs.String() != want {
			t.Errorf("%q: status %d, stderr %q, want %q", args, status, errs.String(), want)
		}
	}
}
