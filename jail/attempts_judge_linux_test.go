//go:build amd64 || arm64

package jail

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tally holds what was found against the table.
type tally struct {
	crew     *crew
	abi      int // of Landlock
	table    []attempt
	findings map[string][]finding
	named    bool // the host is told the name of a refused call
	confined bool // the host is in a container, in which a control may fail
}

func newTally(t *testing.T, c *crew) *tally {
	t.Helper()
	j := &tally{crew: c, abi: landlocked().abi, findings: map[string][]finding{}, confined: confined(t)}
	known := c.probeNames(t)
	for _, a := range attemptTable {
		if slices.Contains(known, a.name) {
			j.table = append(j.table, a)
		}
	}
	for _, name := range known {
		if !slices.ContainsFunc(attemptTable, func(a attempt) bool { return a.name == name }) {
			t.Errorf("the table has no %s", name)
		}
	}
	return j
}

// weaker is what is left out for each of the weaker levels.
var weaker = [][]string{{layerNamespaces}, {layerLandlock}, {layerNamespaces, layerLandlock}}

// trials are all that are to be made.
func (j *tally) trials() []trial {
	var all []trial
	seen := map[string]bool{}
	add := func(a attempt, outside string, without []string) {
		one := trial{Attempt: a.name, Outside: outside, Without: without}
		if key := fmt.Sprint(one); !seen[key] {
			seen[key] = true
			all = append(all, one)
		}
	}
	root := j.crew.root
	for _, a := range j.table {
		add(a, outsidePlain, nil)
		if a.privileged && !root {
			add(a, outsideNamespaces, nil)
		}
		add(a, "", keeping(root)) // no layer at all
		add(a, "", nil)
		for _, without := range weaker {
			add(a, "", without)
		}
		if !a.slow {
			add(a, "", leaving(root, layerFilter, layerCgroup))
		}
		for _, claim := range a.claims(j.abi) {
			if slices.Contains(permanent, claim[0]) {
				continue
			}
			add(a, "", keeping(root, claim...))
			if a.slow {
				continue
			}
			add(a, "", leaving(root, claim[0], layerCgroup))
			add(a, "", leaving(root, claim[0], layerFilter, layerCgroup))
		}
	}
	return all
}

func (j *tally) add(f finding) {
	j.findings[f.Trial.Attempt] = append(j.findings[f.Trial.Attempt], f)
	j.named = j.named || f.Call != ""
}

// find is the finding of one run.
func (j *tally) find(name, outside string, without []string) (finding, bool) {
	for _, f := range j.findings[name] {
		if f.Trial.Outside == outside && slices.Equal(f.Trial.Without, without) {
			return f, true
		}
	}
	return finding{}, false
}

// mostUncontrolled is how many attempts may be about something that a machine has
// not; a kernel without modules, some socket families and huge pages lacks ten.
const mostUncontrolled = 20

func (j *tally) judge(t *testing.T, made int) {
	count := 0
	for _, list := range j.findings {
		count += len(list)
	}
	if count != made {
		t.Errorf("%d of %d trials were made", count, made)
	}
	var lacking, others []string
	for _, a := range j.table {
		switch why := j.control(t, a); {
		case why == "":
		case j.elsewhere(a):
			others = append(others, a.name)
		default:
			lacking = append(lacking, a.name+" ("+why+")")
		}
		for _, f := range j.findings[a.name] {
			if f.Trial.Outside == "" && !f.Unmade {
				j.check(t, a, f)
			}
		}
	}
	if len(lacking) > mostUncontrolled && !j.confined {
		t.Errorf("%d attempts have no control here, more than %d", len(lacking), mostUncontrolled)
	}
	t.Logf("as %s: %d attempts, %d trials, %d controls succeed", j.crew.name, len(j.table), count, len(j.table)-len(lacking)-len(others))
	t.Logf("no control here, %d: %s", len(lacking), strings.Join(lacking, ", "))
	t.Logf("a control only as another user, %d: %s", len(others), strings.Join(others, ", "))
	for _, without := range append([][]string{nil}, weaker...) {
		j.summary(t, without)
	}
	j.missing(t)
}

// control says why the attempt does not succeed outside, where that is no fault.
func (j *tally) control(t *testing.T, a attempt) string {
	plain, _ := j.find(a.name, outsidePlain, nil)
	spaces, _ := j.find(a.name, outsideNamespaces, nil)
	for _, f := range []finding{plain, spaces} {
		if f.Broken != "" {
			t.Errorf("%s: %v", a.name, f)
		}
	}
	switch {
	case plain.Escaped, spaces.Escaped:
		return ""
	case a.lacks == "" && !j.elsewhere(a) && !j.confined:
		t.Errorf("%s does not succeed outside: %v", a.name, plain)
	}
	return strings.TrimPrefix(plain.Text, "held: ")
}

// elsewhere says that the control is another user's to show.
func (j *tally) elsewhere(a attempt) bool {
	return a.privileged && !j.crew.root || a.ordinary && j.crew.root
}

// confined says that this process has a system call filter around it, or is a
// root without all of root's capabilities.
func confined(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	filtered := !bytes.Contains(text, []byte("\nSeccomp:\t0\n"))
	_, sets, _ := strings.Cut(string(text), "\nCapEff:\t")
	effective, err := strconv.ParseUint(strings.SplitN(sets, "\n", 2)[0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	const every = 1<<(unix.CAP_CHECKPOINT_RESTORE+1) - 1
	return filtered || os.Geteuid() == 0 && effective&every != every
}

// check holds one run in the jail against the table.
func (j *tally) check(t *testing.T, a attempt, f finding) {
	t.Helper()
	if f.Broken != "" {
		t.Errorf("%s: %v", a.name, f)
		return
	}
	offered := f.Trial.Without == nil || slices.ContainsFunc(weaker, func(w []string) bool { return slices.Equal(w, f.Trial.Without) })
	if offered && f.Escaped {
		t.Errorf("%s ESCAPED at level %s: %v", a.name, f.Level, f)
		return
	}
	switch by := j.holders(a, f); {
	case a.outside != "":
		return
	case len(by) > 0 && f.Escaped:
		t.Errorf("%s escaped although %q stand: %v", a.name, by, f)
	case len(by) > 0:
		j.checkAnswer(t, a, f, by)
	case !f.Escaped && j.free(a):
		t.Errorf("%s was held by something that the table does not name: %v; standing: %q", a.name, f, f.Stands)
	}
}

// holders are the claims that stand in a run.
func (j *tally) holders(a attempt, f finding) []string {
	var by []string
	for _, claim := range a.claims(j.abi) {
		stands := true
		for _, layer := range claim {
			if !j.crew.root && (layer == layerUser || layer == layerCapabilities) {
				stands = stands && len(claim) > 1 // it has no more to lose
				continue
			}
			stands = stands && slices.Contains(f.Stands, layer)
		}
		if stands {
			by = append(by, strings.Join(claim, and))
		}
	}
	return by
}

// free says that the attempt succeeds in a launch without any layer, so that what
// holds it is a layer.
func (j *tally) free(a attempt) bool {
	f, found := j.find(a.name, "", keeping(j.crew.root))
	return found && f.Escaped
}

// checkAnswer looks at how the attempt was held: the filter comes before whatever
// else would hold it.
func (j *tally) checkAnswer(t *testing.T, a attempt, f finding, by []string) {
	t.Helper()
	if !slices.Contains(f.Stands, layerFilter) || a.filter == "" {
		if a.bounded && !slices.Contains(strings.Split(strings.Join(by, and), and), f.Bound) {
			t.Errorf("%s: the end names %q and not one of %q: %v", a.name, f.Bound, by, f)
		}
		if f.Bound == BoundSystemCall {
			t.Errorf("%s: the filter refused what it was to let through: %v", a.name, f)
		}
		return
	}
	for expected := range strings.SplitSeq(a.filter, "|") {
		errno, answers := strings.CutPrefix(expected, "=")
		switch {
		case answers && f.Bound == "" && strings.HasPrefix(f.Text, "held: "+errno+" "):
			return
		case expected == otherInterface && f.Bound == BoundSystemCall && f.Call == "":
			return
		case f.Bound == BoundSystemCall && (f.Call == expected || !j.named):
			return
		}
	}
	t.Errorf("%s: the filter was to say %q: %v", a.name, a.filter, f)
}

// summary counts a run of all attempts by how each was held.
func (j *tally) summary(t *testing.T, without []string) {
	t.Helper()
	count := map[string]int{}
	var level Level
	for _, a := range j.table {
		f, found := j.find(a.name, "", without)
		switch {
		case !found:
			continue
		case f.Escaped:
			count["escaped"]++
		case f.Unmade:
			count["not made"]++
		case f.Bound != "":
			count["ended by the "+f.Bound]++
		default:
			count["answered with an error"]++
		}
		if f.Level != "" {
			level = f.Level
		}
	}
	t.Logf("as %s, level %s: %v", j.crew.name, level, count)
}

// missing skips by name what this machine has not.
func (j *tally) missing(t *testing.T) {
	t.Helper()
	gone := map[string]string{}
	for _, list := range j.findings {
		for _, f := range list {
			if f.Trial.Outside == "" && f.Trial.Without == nil {
				for name, why := range f.Missing {
					gone[name] = why
				}
			}
		}
	}
	for name, why := range gone {
		t.Run(name, func(t *testing.T) { t.Skipf("skipped layer: %s: %s", name, why) })
	}
}
