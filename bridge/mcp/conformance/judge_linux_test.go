package conformance

import (
	"slices"
	"strings"
	"testing"
)

func TestNothingButSuccessPasses(t *testing.T) {
	success := check{ID: "a", Status: "SUCCESS"}
	for what, c := range map[string]struct {
		checks []check
		faults int
	}{
		"success":                {[]check{success}, 0},
		"a remark beside it":     {[]check{success, {ID: "b", Status: "INFO"}}, 0},
		"a failure":              {[]check{success, {ID: "b", Status: "FAILURE"}}, 1},
		"a warning":              {[]check{success, {ID: "b", Status: "WARNING"}}, 1},
		"a check not made":       {[]check{success, {ID: "b", Status: "SKIPPED"}}, 1},
		"a state of another day": {[]check{success, {ID: "b", Status: "FLAKY"}}, 1},
		"nothing but a remark":   {[]check{{ID: "b", Status: "INFO"}}, 1},
		"a scenario not run":     {nil, 1},
	} {
		if got := judge(c.checks); len(got) != c.faults {
			t.Errorf("%s: %q; want %d faults", what, got, c.faults)
		}
	}
}

func TestTheTableCountsWhatIsScored(t *testing.T) {
	got := table("2026-07-28", []string{"one", "two", "three"}, map[string][]check{
		"one":   {{Status: "SUCCESS"}, {Status: "SUCCESS"}},
		"two":   {{Status: "SUCCESS"}, {Status: "WARNING"}},
		"extra": {{Status: "FAILURE"}},
	})
	var rows []string
	for line := range strings.Lines(got) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"2026-07-28 passed failed warned skipped",
		"one 2 0 0 0", "two 1 0 1 0", "three 0 0 0 0", "extra 0 1 0 0 not scored",
		"1 of 3 scored scenarios pass 3 0 1 0",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("%q; want %q", rows, want)
	}
}

func TestAListIsReadUnderItsOwnKey(t *testing.T) {
	const text = "# what counts\nserver:\n  - one\n  # not yet: three\n  - two\n\nclient:\n  - four\nnot_scored:\n  - scenario: five\n    leg: server\n"
	if got := listed(text, "server"); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("read %q", got)
	}
}
