package build

import (
	"errors"
	"strings"
	"testing"

	"github.com/loomext/loomext/vendorize"
)

// openFilled opens a cache of builds.
func openFilled(dir string) (*trusted, error) { return openTrusted(dir, vendorize.CheckVendor) }

func TestATestsOutputIsBounded(t *testing.T) {
	ended := false
	var to strings.Builder
	w := &limitedWriter{to: &to, left: 5, over: func() { ended = true }}
	if _, err := w.Write([]byte("12345")); err != nil || ended {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("6")); err == nil || !ended || !w.full || to.String() != "12345" {
		t.Errorf("%v, %q, %v, %v", err, to.String(), ended, w.full)
	}
	ended = false
	w = &limitedWriter{to: broken{}, left: 5, over: func() { ended = true }}
	if _, err := w.Write([]byte("1")); err == nil || !ended || w.full || w.err == nil {
		t.Errorf("a reader who left did not end the run: %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

func TestWhatACrashedProgramSaysOfItselfIsLeftOut(t *testing.T) {
	for said, want := range map[string]string{
		"": "", "a\nb\n": "a\nb\n",
		"# p\nx.go:1:2: no\nruntime: out of memory: cannot\nfatal error: out of memory\n\ngoroutine 1\n": "# p\nx.go:1:2: no\n",
		"fatal error: runtime: out of memory\n":                                                          "",
	} {
		if got := beforeCrash(said); got != want {
			t.Errorf("%q: got %q", said, got)
		}
	}
}
