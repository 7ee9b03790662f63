package artifact

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// aged is a store with little room that looks at its directory every time, and what it holds from two hours ago.
func aged(t *testing.T, limit bounds, old ...Meta) (*Store, []Artifact) {
	t.Helper()
	s := Open(t.TempDir())
	var all []Artifact
	for i, m := range old {
		// Its id is from back then, and so is what the disk says.
		s.last = id{}.next(time.Now().Add(-2*time.Hour + time.Duration(i)*time.Second))
		n := s.last
		a := put(t, s, m, "12345678")
		then := n.time().Add(time.Millisecond)
		rename(t, s, &a, n)
		for _, suffix := range []string{dataSuffix, recordSuffix} {
			if err := os.Chtimes(s.path(a.ID+suffix), then, then); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, a)
	}
	s = Open(s.dir)
	s.limit = limit
	return s, all
}

// rename gives an artifact the id of another time.
func rename(t *testing.T, s *Store, a *Artifact, n id) {
	t.Helper()
	text, err := os.ReadFile(s.path(a.ID + recordSuffix))
	if err != nil {
		t.Fatal(err)
	}
	stamp := func(at time.Time) string { b, _ := at.MarshalJSON(); return string(b) }
	changed := strings.ReplaceAll(strings.ReplaceAll(string(text), a.ID, n.String()), stamp(a.Created), stamp(n.time()))
	err = errors.Join(os.Rename(s.path(a.ID+dataSuffix), s.path(n.String()+dataSuffix)),
		os.Remove(s.path(a.ID+recordSuffix)), os.WriteFile(s.path(n.String()+recordSuffix), []byte(changed), fileMode))
	if err != nil {
		t.Fatal(err)
	}
	a.ID, a.Created = n.String(), n.time()
}

var other = Meta{Extension: "other", Name: "n", ContentType: "t"}

func ids(t *testing.T, s *Store) []string {
	t.Helper()
	all, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, a := range all {
		texts = append(texts, a.ID)
	}
	return texts
}

func TestTheOldestMakeRoom(t *testing.T) {
	for name, c := range map[string]struct {
		limit bounds
		stays []int // of the five that are old: plots, other, plots, other, plots
	}{
		"room":           {bounds{bytes: 48, count: 6, share: 32}, []int{0, 1, 2, 3, 4}},
		"bytes":          {bounds{bytes: 32, count: 9, share: 32}, []int{2, 3, 4}},
		"count":          {bounds{bytes: 99, count: 3, share: 99}, []int{3, 4}},
		"an extension's": {bounds{bytes: 99, count: 9, share: 16}, []int{1, 3, 4}},
		"its count":      {bounds{bytes: 99, count: 9, share: 99, shareCount: 2}, []int{1, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			c.limit.young = time.Hour
			c.limit.shareCount = cmp.Or(c.limit.shareCount, c.limit.count)
			s, old := aged(t, c.limit, chart, other, chart, other, chart)
			if got := ids(t, s); len(got) != 5 {
				t.Fatalf("there are %d", len(got))
			}
			a := put(t, s, chart, "12345678")
			var want []string
			for _, i := range c.stays {
				want = append(want, old[i].ID)
			}
			if got := ids(t, s); !slices.Equal(got, append(want, a.ID)) {
				t.Errorf("left %q; want %q and %s", got, want, a.ID)
			}
		})
	}
}

func TestTheYoungAreNotRemoved(t *testing.T) {
	for name, limit := range map[string]bounds{
		"more than 0 MiB":          {bytes: 16, count: 9, share: 99},
		"more than 2 artifacts":    {bytes: 99, count: 2, share: 99},
		"artifacts of plots would": {bytes: 99, count: 9, share: 16},
	} {
		limit.young, limit.shareCount = time.Hour, limit.count
		s, _ := aged(t, limit)
		first, second := put(t, s, chart, "12345678"), put(t, s, chart, "12345678")
		_, err := s.Put(chart, []byte("1"))
		if kind(err) != Full || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if got := ids(t, s); !slices.Equal(got, []string{first.ID, second.ID}) {
			t.Errorf("%s: left %q", name, got)
		}
	}
}

func TestWhatAKilledProcessLeftIsSweptAnHourLater(t *testing.T) {
	s := Open(t.TempDir())
	n := id{}.next(time.Now())
	leavings := []string{
		unfinished + n.String() + dataSuffix, unfinished + n.String() + recordSuffix, // while it wrote
		n.String() + dataSuffix,       // before its record
		id{1}.String() + recordSuffix, // a record that a power cut emptied
	}
	foreign := []string{"notes.txt", ".new-notes.json", "x.data"}
	for _, name := range append(slices.Clone(leavings), foreign...) {
		if err := os.WriteFile(s.path(name), nil, fileMode); err != nil {
			t.Fatal(err)
		}
	}
	there := func(names []string) (n int) {
		for _, name := range names {
			if _, err := os.Lstat(filepath.Join(s.dir, name)); err == nil {
				n++
			}
		}
		return n
	}
	a := put(t, s, chart, "x")
	if got := there(leavings); got != len(leavings) {
		t.Errorf("%d of %d are there, which another process may be writing", got, len(leavings))
	}
	long := time.Now().Add(-s.limit.young)
	for _, name := range append(slices.Clone(leavings), foreign...) {
		if err := os.Chtimes(s.path(name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	b := put(t, Open(s.dir), chart, "y")
	if got := there(leavings); got != 0 {
		t.Errorf("%d were left", got)
	}
	if got := there(foreign); got != len(foreign) {
		t.Errorf("%d of %d foreign files are there", got, len(foreign))
	}
	if got := ids(t, s); len(got) != 2 || !slices.Contains(got, a.ID) || !slices.Contains(got, b.ID) {
		t.Errorf("left %q", got)
	}
}

func TestTheDirectoryIsLookedAtOnceInAWhile(t *testing.T) {
	s := Open(t.TempDir())
	s.limit.slackCount, s.limit.slackBytes, s.limit.count = 3, 100, 2
	for n := range 3 { // the first looks, and the next two do not
		if _, err := s.Put(chart, []byte("1")); err != nil {
			t.Errorf("%d: %v", n, err)
		}
	}
	if _, err := s.Put(chart, []byte("1")); kind(err) != Full {
		t.Errorf("the fourth: %v", err)
	}
}

func TestADiskThatRefusesIsNamedWithoutItsPaths(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "artifacts")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := Open(dir)
	_, err := s.Put(chart, []byte("1"))
	if kind(err) != Failed || strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("put: %v", err)
	}
	if _, err := s.List(); kind(err) != Failed || strings.Contains(err.Error(), dir) {
		t.Errorf("list: %v", err)
	}
}

func TestThePageSaysWhatIsKept(t *testing.T) {
	page, err := os.ReadFile("../../docs/capabilities.md")
	if err != nil {
		t.Fatal(err)
	}
	b := defaultBounds
	want := fmt.Sprintf("The store keeps %d MiB and %d,%03d artifacts for each extension, and %d GiB and %d,%03d in all.", b.share>>20, b.shareCount/1000, b.shareCount%1000, b.bytes>>30, b.count/1000, b.count%1000)
	if !strings.Contains(string(page), want) {
		t.Errorf("the page does not say %q", want)
	}
}
