package satlog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestOutputIsCutIntoLines(t *testing.T) {
	long := strings.Repeat("é", lineBytes) // twice as many bytes
	for _, tt := range []struct {
		name   string
		writes []string
		want   []string
	}{
		{"a line", []string{"a\n"}, []string{"a"}},
		{"several at once, and an empty one", []string{"a\n\nb\n"}, []string{"a", "", "b"}},
		{"in pieces", []string{"a", "b", "c\nd", "e\n"}, []string{"abc", "de"}},
		{"without an end", []string{"a\nb"}, []string{"a", "b"}},
		{"nothing", []string{"", ""}, nil},
		{"one end alone", []string{"a", "\n"}, []string{"a"}},
		{"too long", []string{long + "x\n"}, []string{long[:lineBytes], long[lineBytes:], "x"}},
		{"too long, in pieces", []string{long[:10], long[10:], "x", "\n", "y\n"}, []string{long[:lineBytes], long[lineBytes:], "x", "y"}},
		{"as long as may be", []string{long[:lineBytes], "\nx\n"}, []string{long[:lineBytes], "x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "logs")
			log := Open(dir, "demo")
			w := log.Writer("s")
			var heard []string
			w.Tap(func(line string) { heard = append(heard, line) })
			for _, text := range tt.writes {
				says(t, w, text)
			}
			for range 2 {
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			entries, err := Read(dir, "demo", -1)
			var got []string
			for _, e := range entries {
				got = append(got, e.Text)
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
			if !slices.Equal(heard, tt.want) {
				t.Errorf("the tap heard %q, want %q", heard, tt.want)
			}
		})
	}
}

func TestNothingIsTouchedBeforeTheFirstLine(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home", "logs")
	log := Open(dir, "demo")
	w := log.Writer("s")
	says(t, w, "no end yet")
	if _, err := os.Lstat(filepath.Dir(dir)); err == nil {
		t.Error("the directory was made")
	}
	if entries, err := Read(dir, "demo", -1); len(entries) > 0 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
	says(t, w, "\n")
	for path, mode := range map[string]os.FileMode{dir: os.ModeDir | dirMode, filepath.Join(dir, "demo.log"): fileMode} {
		info, err := os.Lstat(path)
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

func TestNotesAndSessionsStandApart(t *testing.T) {
	dir := t.TempDir()
	log := Open(dir, "demo")
	log.Note("s1", "started,\npid 12")
	a, b := log.Writer("s1"), log.Writer("s2")
	says(t, a, "half ")
	says(t, b, "2026-11-30T11:00:00.123Z s1 # ended\n")
	says(t, a, "a line\n")
	log.Note("s2", "ended: killed: memory")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := Read(dir, "demo", -1)
	want := []string{"s1 # started,\npid 12", "s2 | 2026-11-30T11:00:00.123Z s1 # ended", "s1 | half a line", "s2 # ended: killed: memory"}
	if got := texts(entries); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	mine, err := Read(dir, "demo", 1, func(e Entry) bool { return e.Session == "s1" }, func(e Entry) bool { return !e.Note })
	if got := texts(mine); err != nil || !slices.Equal(got, want[2:3]) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestNamesAreChecked(t *testing.T) {
	for _, name := range []string{"", ".", "../demo", "Demo", "a/b", "demo.log", "a__b", "a\n"} {
		dir := t.TempDir()
		log := Open(dir, name)
		log.Note("s", "x")
		if err := log.Err(); err == nil || !strings.Contains(err.Error(), "lines not written: 1") {
			t.Errorf("Open(%q): %v", name, err)
		}
		if err := log.Err(); err != nil {
			t.Errorf("told twice: %v", err)
		}
		if _, err := Read(dir, name, -1); err == nil {
			t.Errorf("Read(%q) found one", name)
		}
		if err := Follow(t.Context(), dir, name, 0, func(Entry) error { return nil }); err == nil {
			t.Errorf("Follow(%q) found one", name)
		}
		if len(filesOf(t, dir)) > 0 {
			t.Errorf("%q made files", name)
		}
	}
}

func TestFullFilesAreRotated(t *testing.T) {
	p := small(t.TempDir(), 3)
	log := p.log()
	w := log.Writer("s")
	const lines = 500
	for n := range lines {
		says(t, w, numbered("s", n)+"\n")
	}
	files := filesOf(t, p.dir)
	if len(files) != 4 {
		t.Errorf("%v", files)
	}
	for name, size := range files {
		if size > p.file {
			t.Errorf("%s has %d bytes", name, size)
		}
	}
	inOrder(t, p.must(t), -1, lines-1)
	last, err := p.read(100, nil)
	if inOrder(t, last, lines-100, lines-1); err != nil || len(last) != 100 {
		t.Errorf("%d, %v", len(last), err)
	}
	if none, err := p.read(0, nil); err != nil || len(none) != 0 {
		t.Errorf("%d, %v", len(none), err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// A rotation that was killed leaves a gap, and the next one fills it instead of dropping the oldest.
func TestAGapIsClosed(t *testing.T) {
	p := small(t.TempDir(), 3)
	put(t, p.dir, "demo.log", entryLine("s", markOutput, strings.Repeat("x", 4000))+"\n")
	put(t, p.dir, "demo.log.2", entryLine("s", markOutput, "old")+"\n")
	put(t, p.dir, "demo.log.3", entryLine("s", markOutput, "oldest")+"\n")
	log := p.log()
	log.Note("s", strings.Repeat("y", 1000))
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	got := texts(p.must(t))
	if len(got) != 4 || got[0] != "s | oldest" || got[1] != "s | old" || !strings.HasPrefix(got[3], "s # yyy") {
		t.Errorf("%q", got)
	}
}

// What a kill left of a line is ended before the next begins.
func TestATornLineIsEnded(t *testing.T) {
	p := small(t.TempDir(), 3)
	whole := entryLine("s", markOutput, "whole") + "\n"
	put(t, p.dir, "demo.log", whole+entryLine("s", markOutput, "torn"))
	if got := texts(p.must(t)); !slices.Equal(got, []string{"s | whole"}) {
		t.Errorf("before: %q", got)
	}
	log := p.log()
	log.Note("s", "next")
	f, err := os.OpenFile(p.path(0), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString("2026-11")
	_ = f.Close()
	log.Note("s", "last")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if got := texts(p.must(t)); !slices.Equal(got, []string{"s | whole", "s | torn", "s # next", " | 2026-11", "s # last"}) {
		t.Errorf("after: %q", got)
	}
}

func TestARemovedLogBeginsAnew(t *testing.T) {
	p := small(filepath.Join(t.TempDir(), "logs"), 3)
	log := p.log()
	log.Note("s", "a")
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	log.Note("s", "b")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if got := texts(p.must(t)); !slices.Equal(got, []string{"s # b"}) {
		t.Errorf("%q", got)
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	for what, obstruct := range map[string]func(string) error{
		"a directory": func(path string) error { return os.MkdirAll(path, 0o700) },
		"a link": func(path string) error {
			_ = os.MkdirAll(filepath.Dir(path), 0o700)
			return os.Symlink("/dev/null", path)
		},
		"no directory": func(path string) error { return os.WriteFile(filepath.Dir(path), nil, 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			p := small(filepath.Join(t.TempDir(), "logs"), 3)
			if err := obstruct(p.path(0)); err != nil {
				t.Fatal(err)
			}
			log := p.log()
			w := log.Writer("s")
			says(t, w, "a\nb\n")
			says(t, w, "c\n")
			err := log.Err()
			remedy := "; move it away"
			if what == "no directory" {
				remedy = "; make room in "
			}
			if err == nil || !strings.HasPrefix(err.Error(), "log of demo: lines not written: 3: ") || !strings.Contains(err.Error(), remedy) {
				t.Errorf("%v", err)
			}
			if err := log.Err(); err != nil {
				t.Errorf("told twice: %v", err)
			}
			if what != "no directory" {
				if _, err := p.read(-1, nil); err == nil {
					t.Error("it was read")
				}
			}
			// Once the obstacle is gone, the log goes on.
			if err := os.RemoveAll(p.dir); err != nil {
				t.Fatal(err)
			}
			says(t, w, "d\n")
			if err := log.Close(); err != nil {
				t.Error(err)
			}
			if got := texts(p.must(t)); !slices.Equal(got, []string{"s | d"}) {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestAClosedLogLosesLines(t *testing.T) {
	p := small(t.TempDir(), 3)
	log := p.log()
	log.Note("s", "a")
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	log.Note("s", "b")
	if err := log.Close(); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v", err)
	}
}

// A process that holds the lock and does nothing makes nobody else wait twice, loses nothing at
// first, and lets nothing grow without a bound.
func TestAStoppedHolderOfTheLock(t *testing.T) {
	p := small(t.TempDir(), 3)
	log := p.log()
	log.Note("s", "begun")
	holder, err := os.Open(p.path(0))
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if ok, err := tryLock(holder); !ok || err != nil {
		t.Fatal(ok, err)
	}
	w := log.Writer("s")
	const lines = 1000
	for n := range lines {
		says(t, w, numbered("s", n)+"\n")
	}
	if files := filesOf(t, p.dir); len(files) != 1 || files["demo.log"] > stretch*p.file || files["demo.log"] < p.file {
		t.Errorf("%v", files)
	}
	kept := len(p.must(t)) - 1
	if err := log.Err(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("lines not written: %d: ", lines-kept)) || !strings.Contains(err.Error(), "does nothing") {
		t.Errorf("%d kept: %v", kept, err)
	}
	unlock(holder)
	log.Note("s", "on it goes")
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	entries := p.must(t)
	if last := entries[len(entries)-1]; last.Text != "on it goes" || len(filesOf(t, p.dir)) != 2 {
		t.Errorf("%+v", last)
	}
	inOrder(t, entries[1:len(entries)-1], 0, kept-1)
}

// A flood from several sessions is bounded on the disk, and its end is there.
func TestAFloodIsBounded(t *testing.T) {
	dir := t.TempDir()
	log := Open(dir, "demo")
	block := []byte(strings.Repeat(strings.Repeat("flood ", 20)+"\n", 500) + strings.Repeat("\x00", 4000) + strings.Repeat("\n", 500))
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			w := log.Writer(fmt.Sprint(i))
			for range 30 {
				_, _ = w.Write(block)
			}
			_, _ = fmt.Fprintf(w, "the end of %d\n", i)
			_ = w.Close()
		})
	}
	writers.Wait()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	files := filesOf(t, dir)
	for name, size := range files {
		if size > fileBytes {
			t.Errorf("%s has %d bytes", name, size)
		}
	}
	if len(files) != olderFiles+1 {
		t.Errorf("%v", files)
	}
	last, err := Read(dir, "demo", -1, func(e Entry) bool { return strings.HasPrefix(e.Text, "the end of ") })
	if err != nil || len(last) == 0 {
		t.Errorf("%v, %v", last, err)
	}
}

func TestNamesOfLogs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"units.log", "demo.log", "demo.log.1", "gone.log.2", "notes.txt", "Odd.log", "demo.log.old", ".log"} {
		put(t, dir, name, "")
	}
	if got := Names(dir); !slices.Equal(got, []string{"demo", "gone", "units"}) {
		t.Errorf("%q", got)
	}
	if got := Names(filepath.Join(dir, "missing")); got != nil {
		t.Errorf("%q", got)
	}
}

// What somebody else has put there is read as far as it goes.
func TestForeignFilesAreRead(t *testing.T) {
	p := small(t.TempDir(), 1)
	put(t, p.dir, "demo.log.1", strings.Repeat("z", 3*foreignBytes)+"\n"+entryLine("s", markOutput, "a"))
	put(t, p.dir, "demo.log", "\n"+strings.Repeat("z", 2*foreignBytes)+"\n"+entryLine("s", markOutput, "b")+"\n")
	got := texts(p.must(t))
	if len(got) != 2 || got[0] != "s | a" || got[1] != "s | b" {
		t.Errorf("%d entries", len(got))
	}
	p.file = 1 << 20
	entries := p.must(t)
	for _, e := range entries {
		if len(e.Text) > 2*foreignBytes {
			t.Errorf("%d bytes at once", len(e.Text))
		}
	}
	if last := entries[len(entries)-1]; last.Text != "b" || last.Time.After(time.Now()) {
		t.Errorf("%+v", last)
	}
}

func TestANoteIsOneLine(t *testing.T) {
	dir := t.TempDir()
	l := Open(dir, "units")
	l.Note("session", "started\n"+strings.Repeat("é", 3*lineBytes))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	entries, err := Read(dir, "units", -1)
	if err != nil || len(entries) != 1 || !entries[0].Note || !strings.HasPrefix(entries[0].Text, "started\né") || len(entries[0].Text) > lineBytes {
		t.Errorf("%d entries, %v", len(entries), err)
	}
}
