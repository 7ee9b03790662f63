package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"
)

// suiteWithin bounds one run of the suite, which takes seconds.
const suiteWithin = 90 * time.Second

// revisions are those of the protocol whose requirements are held.
var revisions = []string{"2025-11-25", "2026-07-28"}

// check is one thing that a scenario looked at.
type check struct {
	ID, Status, Description, ErrorMessage string
}

func TestTheSuitePasses(t *testing.T) {
	dir := packages(t)
	s := newStore(t)
	if t.Failed() {
		return
	}
	granted := s.operate(t)
	at := s.serve(t)
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) { runSuite(t, dir, at, revision) })
	}
	if granted() == 0 {
		t.Error("the suite never asked for other tools or prompts, so it cannot have seen that they change")
	}
}

func runSuite(t *testing.T, dir, at, revision string) {
	scored := scored(t, dir, revision)
	results := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), suiteWithin)
	defer cancel()
	run := node(ctx, t, dir, suiteProgram, "server", "--url", at, "--requirements", revision, "--output-dir", results)
	out, err := run.CombinedOutput()
	outcomes := read(t, results)
	if missing := len(scored) - ran(scored, outcomes); missing > 0 {
		t.Errorf("%d scenarios did not come to their end; the end of what the suite said:\n%s", missing, tail(out))
	}
	if err != nil {
		t.Errorf("the suite ended with %v", err)
	}
	t.Logf("\n%s", table(revision, scored, outcomes))
	for _, name := range scored {
		for _, fault := range judge(outcomes[name]) {
			t.Errorf("%s %s: %s", revision, name, fault)
		}
	}
}

// scored lists the scenarios of a revision that count, as the suite itself has them.
func scored(t *testing.T, dir, revision string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, requirementsDir, revision+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	names := listed(string(text), "server")
	if len(names) < 20 {
		t.Fatalf("%s requires %q of a server, which cannot be all", revision, names)
	}
	return names
}

// listed reads the list under one key at the top of a YAML file. The files of the
// requirements have such lists and nothing finer there.
func listed(text, key string) []string {
	var items []string
	within := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		switch item, isItem := strings.CutPrefix(line, "  - "); {
		case isItem && within:
			items = append(items, item)
		case line != "" && line[0] != ' ' && line[0] != '#':
			within = line == key+":"
		}
	}
	return items
}

// resultDir is the name of the directory in which the suite leaves what a scenario
// came to: server-<scenario>-<time>.
var resultDir = regexp.MustCompile(`^server-(.+)-\d{4}-\d{2}-\d{2}T[0-9-]+Z$`)

// read is what each scenario found that ran to its end.
func read(t *testing.T, results string) map[string][]check {
	t.Helper()
	entries, err := os.ReadDir(results)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[string][]check{}
	for _, e := range entries {
		name := resultDir.FindStringSubmatch(e.Name())
		if name == nil {
			t.Errorf("the suite left %q, which is the result of no scenario", e.Name())
			continue
		}
		text, err := os.ReadFile(filepath.Join(results, e.Name(), "checks.json"))
		if err != nil { // it did not come to its end
			continue
		}
		var checks []check
		if err := json.Unmarshal(text, &checks); err != nil {
			t.Errorf("%s: %v", name[1], err)
		}
		outcomes[name[1]] = append(outcomes[name[1]], checks...)
	}
	return outcomes
}

// ran is how many of the scenarios came to their end.
func ran(scenarios []string, outcomes map[string][]check) int {
	n := 0
	for _, name := range scenarios {
		if len(outcomes[name]) > 0 {
			n++
		}
	}
	return n
}

// judge says what is wrong with the outcome of a scenario that counts. Nothing that it
// could not look at, and nothing that it merely advises against, is let pass.
func judge(checks []check) []string {
	var faults []string
	passed := 0
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			passed++
		case "INFO":
		default:
			faults = append(faults, fmt.Sprintf("%s: %s: %s (%s)", c.Status, c.ID, c.ErrorMessage, c.Description))
		}
	}
	if passed == 0 {
		faults = append(faults, "it did not run, or looked at nothing")
	}
	return faults
}

// table has a row for each scenario, those that count first.
func table(revision string, scored []string, outcomes map[string][]check) string {
	var rest []string
	for name := range outcomes {
		if !slices.Contains(scored, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\tpassed\tfailed\twarned\tskipped\t\n", revision)
	sum := map[string]int{}
	clean := 0
	for i, name := range slices.Concat(scored, rest) {
		count := map[string]int{}
		for _, c := range outcomes[name] {
			count[c.Status]++
		}
		note := ""
		switch {
		case i >= len(scored):
			note = "not scored"
		case len(judge(outcomes[name])) == 0:
			clean++
			fallthrough
		default:
			for status, n := range count {
				sum[status] += n
			}
		}
		row(w, name, count, note)
	}
	row(w, fmt.Sprintf("%d of %d scored scenarios pass", clean, len(scored)), sum, "")
	w.Flush()
	return text.String()
}

func row(w *tabwriter.Writer, name string, count map[string]int, note string) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t %s\n", name, count["SUCCESS"], count["FAILURE"], count["WARNING"], count["SKIPPED"], note)
}

// tail is the end of an output, as much as a person reads.
func tail(out []byte) []byte {
	const most = 4 << 10
	return out[max(0, len(out)-most):]
}
