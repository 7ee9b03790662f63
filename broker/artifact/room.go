package artifact

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// bounds are what a store may hold.
type bounds struct {
	bytes      int64         // of all data
	count      int           // of artifacts: a directory of more is slow to list
	share      int64         // of the data of one extension, so that one cannot push out the others'
	shareCount int           // the same of count
	young      time.Duration // what is younger is not removed
	slackBytes int64         // what may be put between two looks at the directory, by each process
	slackCount int
}

var defaultBounds = bounds{
	bytes:      1 << 30,
	count:      4_000,
	share:      256 << 20,
	shareCount: 1_000,
	young:      time.Hour, // time enough for whoever was told an id to fetch it, and for any Put to end
	slackBytes: 16 << 20,
	slackCount: 64,
}

// held is one artifact as its record tells.
type held struct {
	id        id
	extension string
	size      int64
}

// makeRoom sweeps what killed processes left and removes the oldest artifacts until one more of the size has room: of
// the extension's own where it is past its share, and then of any. s.mu is held; other processes may do the same.
func (s *Store) makeRoom(extension string, size int64, now time.Time) error {
	all, err := s.survey(now)
	if err != nil {
		return failed("list the artifacts", err)
	}
	var bytes, own int64
	ownCount := 0
	for _, h := range all {
		bytes += h.size
		if h.extension == extension {
			own += h.size
			ownCount++
		}
	}
	count := len(all)
	for _, h := range all { // the oldest first
		past := bytes+size > s.limit.bytes || count+1 > s.limit.count
		greedy := (own+size > s.limit.share || ownCount+1 > s.limit.shareCount) && h.extension == extension
		if !past && !greedy {
			continue
		}
		if now.Sub(h.id.time()) < s.limit.young {
			break // and so are all that follow
		}
		if _, err := s.remove(h.id); err != nil {
			return failed("make room", err)
		}
		bytes, count = bytes-h.size, count-1
		if h.extension == extension {
			own -= h.size
			ownCount--
		}
	}
	const wait = "; what is younger than an hour is not removed to make room: remove artifacts, or wait"
	switch {
	case own+size > s.limit.share:
		return &Error{Kind: Full, Msg: "the artifacts of " + extension + " would have more than " + mebibytes(s.limit.share) + wait}
	case ownCount+1 > s.limit.shareCount:
		return &Error{Kind: Full, Msg: "there would be more than " + strconv.Itoa(s.limit.shareCount) + " artifacts of " + extension + wait}
	case bytes+size > s.limit.bytes:
		return &Error{Kind: Full, Msg: "all artifacts together would have more than " + mebibytes(s.limit.bytes) + wait}
	case count+1 > s.limit.count:
		return &Error{Kind: Full, Msg: "there would be more than " + strconv.Itoa(s.limit.count) + " artifacts" + wait}
	}
	return nil
}

func mebibytes(n int64) string { return strconv.FormatInt(n>>20, 10) + " MiB" }

// survey lists the artifacts, the oldest first, and removes what is none and has not been touched for an hour: a file
// that is not finished, data without a record, a record without data. What a store does not write it leaves alone. A record
// is read once, for it never changes.
func (s *Store) survey(now time.Time) ([]held, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var all []held
	known := make(map[id]held, len(s.known))
	for _, entry := range entries {
		name := entry.Name()
		text, suffix := split(strings.TrimPrefix(name, unfinished))
		n, err := parse(text)
		if suffix == "" || err != nil {
			continue
		}
		switch {
		case strings.HasPrefix(name, unfinished):
		case suffix == recordSuffix:
			h, seen := s.known[n]
			if !seen {
				a, err := s.Get(text)
				h, seen = held{n, a.Extension, a.Size}, err == nil
			}
			if seen {
				known[n] = h
				all = append(all, h)
				continue
			}
		default:
			if _, err := os.Lstat(s.path(text + recordSuffix)); err == nil {
				continue
			}
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if now.Sub(info.ModTime()) >= s.limit.young {
			if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	s.known = known
	return all, nil
}

// split is an id and the suffix of one of its files, or no suffix.
func split(name string) (text, suffix string) {
	for _, suffix := range []string{dataSuffix, recordSuffix} {
		if text, ok := strings.CutSuffix(name, suffix); ok {
			return text, suffix
		}
	}
	return name, ""
}
