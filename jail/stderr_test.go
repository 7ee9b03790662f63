package jail

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Whatever the pieces, the first quarter and the last three quarters are kept,
// and nothing is left out of what fits.
func TestCappedKeepsBothEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 4096).Draw(t, "limit")
		pieces := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 3000)).Draw(t, "pieces")
		c := newCapped(limit)
		limit = max(limit, minStderrCap)
		var all bytes.Buffer
		for _, p := range pieces {
			if n, err := c.Write(p); n != len(p) || err != nil {
				t.Fatal(n, err)
			}
			all.Write(p)
		}
		if cap(c.ring) > 2*limit || cap(c.head) > 2*limit {
			t.Fatalf("grew to %d and %d", cap(c.head), cap(c.ring))
		}
		got, want := c.String(), all.String()
		if len(want) > limit {
			head := limit / 4
			want = want[:head] + fmt.Sprintf("\n[… %d bytes left out …]\n", len(want)-limit) + want[len(want)-(limit-head):]
		}
		if got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}

func TestWarningNamesTheLevelAndWhatIsMissing(t *testing.T) {
	all := func(missing ...string) []Layer {
		list := []Layer{{Name: layerNamespaces}, {Name: layerLandlock}, {Name: layerCgroup}, {Name: layerFilter}, {Name: layerUser}}
		for i := range list {
			list[i].State = Enforced
			if slices.Contains(missing, list[i].Name) {
				list[i].State = Skipped
			}
		}
		return list
	}
	for _, c := range []struct {
		missing []string
		level   Level
		warning string
	}{
		{nil, LevelFull, ""},
		{[]string{layerCgroup}, LevelNoCgroup, ""},
		{[]string{layerUser, layerCgroup}, LevelNoUser, "jail: level no-user: not enforced: unprivileged user"},
		{[]string{layerLandlock, layerCgroup}, LevelNoLandlock, "jail: level no-landlock: not enforced: landlock"},
		{[]string{layerNamespaces}, LevelNoNamespaces, "jail: level no-namespaces: not enforced: namespaces"},
		{[]string{layerNamespaces, layerLandlock}, LevelFilterOnly, "jail: level filter-only: not enforced: namespaces, landlock"},
	} {
		r := newReport(Satellite, all(c.missing...))
		if r.Level != c.level || r.Warning() != c.warning || r.Level.Default() != (c.warning == "") {
			t.Errorf("%v: %q, %q", c.missing, r.Level, r.Warning())
		}
	}
	if r := newReport(Plain, all(layerNamespaces)); r.Level != "" || r.Warning() != "" {
		t.Errorf("%+v", r)
	}
}
