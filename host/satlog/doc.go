// Package satlog keeps what satellites write to standard output and standard error: one
// bounded log for each extension, which sessions and processes share.
//
// A log is up to four text files below one directory: demo.log is written to, demo.log.1 to
// demo.log.3 are older. A line of a file is one [Entry]:
//
//	2026-11-30T18:31:00.123Z 7f3a9c | reading the table
//	2026-11-30T18:31:02.480Z 7f3a9c # ended: killed: memory
//
// that is the time in UTC, the session, a mark, and the text. The mark is | for a line of the
// satellite's output and # for a note of the host's own. Session and text are escaped so far as
// one entry needs to stay one line, of a file and of a terminal: a control character but the
// tab, a separator of lines or paragraphs, and a byte that is no UTF-8 stand as \xNN for each of
// their bytes, in lower case. A backslash that would otherwise read as such an escape stands as
// \x5c, every other one as itself. [Read] gives the bytes back as they were.
//
// It is not the host's own logging, which is slog's, and not the tail of output in a failure,
// which the jail keeps. It does not escape for a terminal: the text of an entry is an extension's.
//
// Invariants:
//
//   - Whoever holds the lock of the file that a log is written to may append to it and rotate
//     it, and nobody else does. Only where the holder stands still for a second are
//     lines appended without it, and none is rotated.
//   - Lines are appended whole, some at a time, in one write. What a killed process left of a
//     line is ended before the next begins.
//   - The files of a log take at most four times their bound, five where none can be rotated.
//   - Nothing an extension writes begins a line of a file or holds a note's mark in its place.
//   - A satellite that floods its log waits for it, and costs its host some percent of a processor.
//   - Reading takes no lock: a reader that is stopped stops no writer.
//
// Errors have no layer in them: a command gives them its own.
package satlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loomext/loomext/manifest"
)

const (
	// fileBytes is when a file is rotated: some ten thousand lines, which an editor opens.
	fileBytes = 1 << 20
	// olderFiles is how many are kept beside the one that is written to. A few megabytes hold
	// the days before a fault of an extension that says little, and the minute before one that floods.
	olderFiles = 3
	// stretch is how many times its bound a file may take while it cannot be rotated.
	stretch = 2
	// lineBytes is how much of a line that has no end yet is held back, and the longest text of
	// one entry: enough for a line of JSON. A longer line is several entries.
	lineBytes = 8 << 10
	// sessionBytes is how much of a session's name a line holds; no name of ours is as long.
	sessionBytes = 64
	// batchBytes is about the most that is appended under one lock, so that writers take
	// turns; the longest entry, with every byte escaped, has room in it.
	batchBytes = 64 << 10
)

const (
	// dirMode and fileMode keep logs to their owner: output may hold what an extension was given.
	dirMode  = 0o700
	fileMode = 0o600
)

// DirName is the directory of the logs in a home.
const DirName = "logs"

// suffix is how the file that is written to ends; older ones have a number after it.
const suffix = ".log"

// Entry is one line of a log.
type Entry struct {
	Time    time.Time // when the host had it, in UTC to the millisecond; zero where the line is none of ours
	Session string    // as the writer named it, or its beginning
	Note    bool      // the host's own, and not output
	Text    string    // without its newline; the extension's, so escape it before a terminal sees it
}

// bounds are fileBytes and olderFiles, but in tests.
type bounds struct {
	file  int64
	older int
}

func usual() bounds { return bounds{file: fileBytes, older: olderFiles} }

// place is where the log of one extension is.
type place struct {
	dir, name string
	bounds
}

// newPlace checks the name, which may come from a command line and must not be a path.
func newPlace(dir, name string) (place, error) {
	if !manifest.IsName(name) {
		return place{}, fmt.Errorf("log of %q: this is no extension name; names are [a-z][a-z0-9_]* without a double underscore", name)
	}
	return place{dir: dir, name: name, bounds: usual()}, nil
}

// path is the file that is written to where age is 0, and older ones from 1.
func (p place) path(age int) string {
	path := filepath.Join(p.dir, p.name+suffix)
	if age > 0 {
		path += "." + strconv.Itoa(age)
	}
	return path
}

// errNoFile is something else in the place of a file.
var errNoFile = errors.New("no regular file")

// fault names the log in an error about it.
func (p place) fault(err error, remedy string) error {
	if errors.Is(err, errNoFile) {
		remedy = "move it away"
	}
	return fmt.Errorf("log of %s: %w; %s", p.name, err, remedy)
}

// look is the state of a path, which must be a file: a pipe would hold up whoever opens it.
func look(path string) (os.FileInfo, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %w", path, errNoFile)
	}
	return info, err
}

// Names lists the extensions that have a log below a directory, whether or not it can be read, sorted. A directory that cannot
// be read has none.
func Names(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		name, age, ok := strings.Cut(entry.Name(), suffix)
		if _, err := strconv.Atoi(strings.TrimPrefix(age, ".")); age != "" && err != nil {
			continue
		}
		if ok && manifest.IsName(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
