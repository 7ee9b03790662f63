package jail

import (
	"bytes"
	"fmt"
	"strings"
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

func TestWarningOfAnEmptyReport(t *testing.T) {
	if w := (Report{}).Warning(); !strings.HasPrefix(w, "jail: not enforced") {
		t.Error(w)
	}
	if w := (Report{Layers: []Layer{{Name: "a", State: Enforced}}}).Warning(); w != "" {
		t.Error(w)
	}
}
