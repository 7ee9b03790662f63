package host_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/livetest"
)

// lines collects what an Output is told.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) has(begin string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.all, func(line string) bool { return strings.HasPrefix(line, begin) })
}

func TestWhatASatellitePrintsIsToldToTheCallThatIsOpenAndToNoOther(t *testing.T) {
	s := session(t)
	var before, dying, after, late lines
	call := func(to *lines, op, text string) error {
		c := do(t, op, "text", text)
		c.Output = to.add
		_, err := s.Call(t.Context(), c)
		return err
	}
	if err := call(&before, "echo", "before"); err != nil {
		t.Fatal(err)
	}
	fails(t, call(&dying, "die", "of a call"), host.Crashed, "")
	if !dying.has("panic: of a call") || !dying.has("goroutine ") {
		t.Errorf("the call that it died of was told %q when it returned", dying.all)
	}
	if err := call(&after, "dielater", "of none"); err != nil {
		t.Fatal(err)
	}
	livetest.Eventually(t, "its end is noted", func() bool { return status(t, s, "probe").State == host.StateDestroyed })
	if err := call(&late, "echo", "after"); err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]*lines{"the call before": &before, "the next": &after, "the one after it": &late} {
		if len(other.all) > 0 {
			t.Errorf("%s was told %q", name, other.all)
		}
	}
}

func TestSatellitesAreStartedByName(t *testing.T) {
	s := session(t)
	all := s.Status()
	if len(all) < 2 {
		t.Fatalf("%d extensions", len(all))
	}
	s.Start("probe", "absent")
	livetest.Eventually(t, "probe is there", func() bool { return status(t, s, "probe").PID != 0 })
	for _, st := range s.Status() {
		if st.Name != "probe" && st.PID != 0 {
			t.Errorf("%s was started as well", st.Name)
		}
	}
}
