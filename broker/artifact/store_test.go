package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var chart = Meta{Extension: "plots", Session: "s1", Name: "chart.png", ContentType: "image/png"}

func kind(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

func put(t *testing.T, s *Store, m Meta, data string) Artifact {
	t.Helper()
	a, err := s.Put(m, []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWhatIsPutIsFound(t *testing.T) {
	s := Open(filepath.Join(t.TempDir(), "home", "artifacts"))
	before := time.Now().Truncate(time.Millisecond)
	a := put(t, s, chart, "PNG")
	digest := sha256.Sum256([]byte("PNG"))
	if a.Extension != "plots" || a.Session != "s1" || a.Name != "chart.png" || a.ContentType != "image/png" || a.Size != 3 ||
		a.SHA256 != hex.EncodeToString(digest[:]) || a.Created.Before(before) || a.Created.Location() != time.UTC {
		t.Errorf("put %+v", a)
	}
	if got, err := s.Get(a.ID); err != nil || got != a {
		t.Errorf("got %+v, %v; want %+v", got, err, a)
	}
	path, err := s.Path(a.ID)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "PNG" {
		t.Errorf("the data is %q, %v", data, err)
	}
	for _, file := range []string{path, strings.TrimSuffix(path, dataSuffix) + recordSuffix} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
	if info, err := os.Stat(s.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
	if left, err := filepath.Glob(filepath.Join(s.dir, ".*")); err != nil || len(left) != 0 {
		t.Errorf("left %q, %v", left, err)
	}
}

func TestNothingIsThereBeforeTheFirstPut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "artifacts")
	s := Open(dir)
	if all, err := s.List(); err != nil || len(all) != 0 {
		t.Errorf("listed %v, %v", all, err)
	}
	if _, err := s.Get(id{}.String()); kind(err) != NotFound {
		t.Errorf("got %v", err)
	}
	if err := s.Remove(id{}.String()); kind(err) != NotFound {
		t.Errorf("removed: %v", err)
	}
	if _, err := s.Put(Meta{}, nil); kind(err) != Invalid {
		t.Errorf("put: %v", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is there: %v", err)
	}
}

func TestRemovedIsGone(t *testing.T) {
	s := Open(t.TempDir())
	a, b := put(t, s, chart, "1"), put(t, s, chart, "2")
	if err := s.Remove(a.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(a.ID); kind(err) != NotFound {
		t.Errorf("twice: %v", err)
	}
	all, err := s.List()
	if err != nil || !slices.Equal(all, []Artifact{b}) {
		t.Errorf("left %+v, %v", all, err)
	}
	files, _ := os.ReadDir(s.dir)
	if len(files) != 2 {
		t.Errorf("left files %v", files)
	}
}

func TestOnlyAnIDIsPartOfAPath(t *testing.T) {
	dir := t.TempDir()
	s := Open(filepath.Join(dir, "artifacts"))
	good := put(t, s, chart, "x").ID
	if err := os.WriteFile(filepath.Join(dir, "secret.data"), []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", ".", "..", "../secret", "/etc/passwd", "a/b", `a\b`, "CON", good[1:], good + "0", strings.ToUpper(good), good[:25] + "\x00",
		"../" + good, good[:25] + "/", good[:25] + ".", good[:25] + "\n", good[:25] + "w", good[:25] + "1", strings.Repeat("é", 13), strings.Repeat("9", 1<<20),
	} {
		if text == good {
			continue
		}
		_, getErr := s.Get(text)
		_, pathErr := s.Path(text)
		for _, err := range []error{getErr, pathErr, s.Remove(text)} {
			if k := kind(err); k != Invalid || len(err.Error()) > 500 {
				t.Errorf("%.80q: %v", text, err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "secret.data")); err != nil {
		t.Error(err)
	}
}

func TestIDsSortByTimeAndPlace(t *testing.T) {
	var last id
	now := time.UnixMilli(1_700_000_000_123)
	var texts []string
	for i := range 1000 {
		step := time.Duration(i/100) * time.Millisecond
		if i > 700 {
			step = -time.Hour // the clock went back
		}
		last = last.next(now.Add(step))
		if back, err := parse(last.String()); err != nil || back != last {
			t.Fatalf("%s: %v, %v", last, back, err)
		}
		texts = append(texts, last.String())
	}
	if !slices.IsSorted(texts) || len(slices.Compact(texts)) != 1000 {
		t.Error("the ids do not sort as they were made")
	}
	if got := (id{}).next(now).time(); !got.Equal(now) {
		t.Errorf("made at %v, says %v", now, got)
	}
}

func TestDescriptionsAreBounded(t *testing.T) {
	s := Open(t.TempDir())
	for name, m := range map[string]Meta{
		"no extension":   {Name: "n", ContentType: "t"},
		"no name":        {Extension: "e", ContentType: "t"},
		"no type":        {Extension: "e", Name: "n"},
		"long name":      {Extension: "e", Name: strings.Repeat("n", MaxName+1), ContentType: "t"},
		"long type":      {Extension: "e", Name: "n", ContentType: strings.Repeat("t", MaxContentType+1)},
		"long session":   {Extension: "e", Session: strings.Repeat("s", maxOwner+1), Name: "n", ContentType: "t"},
		"line break":     {Extension: "e", Name: "a\nb", ContentType: "t"},
		"right to left":  {Extension: "e", Name: "a\u202eb", ContentType: "t"},
		"no UTF-8":       {Extension: "e", Name: "a\xff", ContentType: "t"},
		"line separator": {Extension: "e", Name: "a\u2028", ContentType: "t"},
		"escape in type": {Extension: "e", Name: "n", ContentType: "a\x1b[2J"},
	} {
		if _, err := s.Put(m, nil); kind(err) != Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Put(chart, make([]byte, MaxData+1)); kind(err) != Invalid {
		t.Errorf("too much: %v", err)
	}
	widest := Meta{strings.Repeat("\u4e16", maxOwner/3), strings.Repeat("\"", maxOwner), strings.Repeat("<", MaxName), strings.Repeat("&", MaxContentType)}
	if a, err := s.Put(widest, nil); err != nil {
		t.Error(err)
	} else if got, err := s.Get(a.ID); err != nil || got != a {
		t.Errorf("the widest record: %+v, %v", got, err)
	}
}

func TestADamagedArtifactIsNotThere(t *testing.T) {
	s := Open(t.TempDir())
	damage := map[string]func(a Artifact) error{
		"data cut":       func(a Artifact) error { return os.Truncate(s.path(a.ID+dataSuffix), 1) },
		"data gone":      func(a Artifact) error { return os.Remove(s.path(a.ID + dataSuffix)) },
		"record emptied": func(a Artifact) error { return os.Truncate(s.path(a.ID+recordSuffix), 0) },
		"record of another": func(a Artifact) error {
			text, err := os.ReadFile(s.path(put(t, s, chart, "other").ID + recordSuffix))
			return errors.Join(err, os.WriteFile(s.path(a.ID+recordSuffix), text, 0o600))
		},
		"record too long": func(a Artifact) error {
			text, err := os.ReadFile(s.path(a.ID + recordSuffix))
			return errors.Join(err, os.WriteFile(s.path(a.ID+recordSuffix), append(bytes.Repeat([]byte(" "), maxRecord), text...), 0o600))
		},
		"record a link": func(a Artifact) error {
			from := s.path(a.ID + recordSuffix)
			return errors.Join(os.Rename(from, from+".moved"), os.Symlink(from+".moved", from))
		},
	}
	for name, do := range damage {
		a := put(t, s, chart, "data")
		if err := do(a); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(a.ID); err == nil || kind(err) == Invalid {
			t.Errorf("%s: %v", name, err)
		}
		all, err := s.List()
		if err != nil || slices.ContainsFunc(all, func(b Artifact) bool { return b.ID == a.ID }) {
			t.Errorf("%s: listed, %v", name, err)
		}
		if err := s.Remove(a.ID); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestManyWritersAtOnce(t *testing.T) {
	dir := t.TempDir()
	const stores, each = 4, 25
	var wg sync.WaitGroup
	for w := range stores {
		s := Open(dir) // as another process would have
		wg.Go(func() {
			for n := range each {
				if _, err := s.Put(chart, fmt.Appendf(nil, "%d-%d", w, n)); err != nil {
					t.Error(err)
				}
				if _, err := s.List(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s := Open(dir)
	all, err := s.List()
	if err != nil || len(all) != stores*each {
		t.Fatalf("%d artifacts, %v", len(all), err)
	}
	seen := map[string]bool{}
	for _, a := range all {
		path, err := s.Path(a.ID)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		digest := sha256.Sum256(data)
		if err != nil || hex.EncodeToString(digest[:]) != a.SHA256 {
			t.Errorf("%+v has %q, %v", a, data, err)
		}
		seen[string(data)] = true
	}
	if len(seen) != stores*each {
		t.Errorf("%d different artifacts", len(seen))
	}
}
