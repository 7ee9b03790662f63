package host

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/satellite"
)

func TestEveryCodeHasAKind(t *testing.T) {
	for _, c := range []struct {
		code string
		host bool
		want Kind
	}{
		{wire.CodeRefused, false, Refused},
		{"made_up", false, Refused},
		{wire.CodeUnavailable, false, Refused}, // a broker's code that the extension handed on
		{wire.CodeCancelled, false, Refused},   // and one that only its host may mean
		{wire.CodeGone, false, Refused},
		{wire.CodeCrashed, true, Crashed},
		{wire.CodeCrashed, false, Crashed},
		{wire.CodeUnencodable, false, Crashed},
		{wire.CodeUnencodable, true, Arguments}, // the arguments fit no frame
		{wire.CodeDeadline, true, Deadline},
		{wire.CodeDeadline, false, Refused},
		{wire.CodeCancelled, true, Cancelled},
		{wire.CodeGone, true, Gone},
		{wire.CodeProtocol, true, Protocol},
		{wire.CodeBusy, true, Protocol},
		{wire.CodeBadKind, false, Protocol},
		{wire.CodeUnknownTool, false, Protocol},
		{wire.CodeMismatchedHook, false, Protocol},
		{wire.CodeUnhandled, false, Unhandled},
		{wire.CodeBadArguments, false, Arguments},
	} {
		if got := kindOf(&satellite.Error{Code: c.code, Host: c.host}); got != c.want {
			t.Errorf("%s, minted by the host %t: %s, want %s", c.code, c.host, got, c.want)
		}
	}
}

func TestKindsAreAllOfThem(t *testing.T) {
	source, err := os.ReadFile("error.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []Kind
	for _, m := range regexp.MustCompile(`(?m)^\t[A-Z][a-z]+ Kind = "([a-z]+)"$`).FindAllStringSubmatch(string(source), -1) {
		declared = append(declared, Kind(m[1]))
	}
	if got := Kinds(); !slices.Equal(got, declared) || len(got) < 10 {
		t.Errorf("%q, and declared are %q", got, declared)
	}
}
