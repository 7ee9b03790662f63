package workspace

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"
)

// The name of a file that is being written: tempPrefix, tempRandom characters of base 32 and tempSuffix.
const (
	tempPrefix = ".loomext-"
	tempSuffix = ".tmp"
	tempRandom = 26
	tempDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

const (
	// stale is the age at which a file under way has been left behind by a process that was killed.
	stale = time.Hour
	// maxSwept is how many directories are remembered to have been looked through.
	maxSwept = 1_000
)

func tempName() string { return tempPrefix + rand.Text() + tempSuffix }

func isTemp(name string) bool {
	random, is := strings.CutPrefix(name, tempPrefix)
	random, ends := strings.CutSuffix(random, tempSuffix)
	return is && ends && len(random) == tempRandom && strings.Trim(random, tempDigits) == ""
}

// sweeps remembers the directories that were looked through for what killed processes have left.
type sweeps struct {
	mu   sync.Mutex
	done map[string]bool
}

func (s *sweeps) first(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done[path] {
		return false
	}
	if s.done == nil || len(s.done) >= maxSwept {
		s.done = map[string]bool{}
	}
	s.done[path] = true
	return true
}

// sweep removes what killed processes have left in a directory, at the first write into it. What goes wrong with it is
// no matter of the write's.
func (w *Workspace) sweep(dir folder, at place) {
	if !w.swept.first(at.text) {
		return
	}
	entries, _ := w.tree.list(at.text, MaxEntries)
	for _, e := range entries {
		if !isTemp(e.Name) {
			continue
		}
		if info, err := dir.stat(e.Name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > stale {
			_ = dir.remove(e.Name)
		}
	}
}
