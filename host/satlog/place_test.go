package satlog

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience bounds a wait for something that must happen. It is no measure of speed.
const patience = 60 * time.Second

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen within %s", what, patience)
		}
	}
}

// small is a place whose files are rotated every few lines, and all kept where older is large.
func small(dir string, older int) place {
	return place{dir: dir, name: "demo", bounds: bounds{file: 4 << 10, older: older}}
}

// everything is more files than any test makes.
const everything = 2000

func (p place) log() *Log { return &Log{place: p} }

func (p place) must(t *testing.T) []Entry {
	t.Helper()
	entries, err := p.read(-1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// texts are entries in short.
func texts(entries []Entry) []string {
	var out []string
	for _, e := range entries {
		mark := " | "
		if e.Note {
			mark = " # "
		}
		out = append(out, e.Session+mark+e.Text)
	}
	return out
}

func says(t *testing.T, w *Writer, text string) {
	t.Helper()
	if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("Write: %d, %v", n, err)
	}
}

// numbered is line n of a session, long enough to fill a small file soon.
func numbered(session string, n int) string {
	return fmt.Sprintf("line %d of %s %s", n, session, strings.Repeat("=", n%50))
}

// numberOf is the number of a whole line of that form, or -1.
func numberOf(e Entry) int {
	fields := strings.Fields(e.Text)
	if len(fields) < 4 {
		return -1
	}
	n, err := strconv.Atoi(fields[1])
	if err != nil || e.Text != numbered(e.Session, n) {
		return -1
	}
	return n
}

// inOrder wants the numbers of each session one after the other, from first where that is not
// negative, and each up to last where that is not. It returns how many sessions there are.
func inOrder(t *testing.T, entries []Entry, first, last int) int {
	t.Helper()
	next := map[string]int{}
	for _, e := range entries {
		n := numberOf(e)
		want, seen := next[e.Session]
		if !seen {
			if want = n; first >= 0 {
				want = first
			}
		}
		if n < 0 || n != want || e.Time.IsZero() {
			t.Fatalf("got %+v where line %d was due", e, want)
		}
		next[e.Session] = n + 1
	}
	for session, n := range next {
		if last >= 0 && n != last+1 {
			t.Fatalf("%s ends with %d, want %d", session, n-1, last)
		}
	}
	return len(next)
}

// filesOf are the names below a directory and their sizes.
func filesOf(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]int64{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = info.Size()
	}
	return files
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), fileMode); err != nil {
		t.Fatal(err)
	}
}
