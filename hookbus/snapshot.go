package hookbus

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomext/loomext/host"
)

// StatusDir is the directory of a host's home where each bus leaves how things stand, in
// a file by its session's name, for whoever asks from outside the process.
const StatusDir = "status"

const (
	// snapshotEvery is how often a bus writes at most: as often as a person looks, and
	// far from what a session would notice.
	snapshotEvery = time.Second
	// maxSnapshots is how many are kept. The oldest of sessions that have ended go first.
	maxSnapshots = 64
	// maxSnapshotAge is how long one of a session that has ended is kept: somebody asks
	// on Monday what the last week did.
	maxSnapshotAge = 7 * 24 * time.Hour
	// maxScrapAge is how long a file lies that a killed process was writing. It takes
	// milliseconds to write one.
	maxScrapAge = time.Hour
	// maxSnapshot is how much of one is read, in bytes: some times what a hundred
	// extensions with all events come to.
	maxSnapshot = 4 << 20
	// maxSnapshotText is how much of a foreign text one holds, in bytes: what fits into
	// some lines. The rest is in the log.
	maxSnapshotText = 300

	snapshotSuffix = ".json"
	scrapPrefix    = ".writing-"
)

// SnapshotState says whether a session goes on.
type SnapshotState string

// The states of a session that left a snapshot.
const (
	Running SnapshotState = "running"
	Ended   SnapshotState = "ended" // its bus was closed, or its process is gone
)

// Snapshot is how things stood in one session when they last changed. It is [Bus.Status]
// as JSON.
type Snapshot struct {
	Session    string              `json:"session"`
	State      SnapshotState       `json:"state"`
	PID        int                 `json:"pid"`     // of the process, as it numbers itself
	Program    string              `json:"program"` // the name that the process was started by
	Began      time.Time           `json:"began"`   // when the bus was made; UTC, to the millisecond
	Updated    time.Time           `json:"updated"` // when it was written; likewise
	Extensions []SnapshotExtension `json:"extensions"`
}

// SnapshotExtension is one extension of a session, in load order.
type SnapshotExtension struct {
	Name    string          `json:"name"`
	State   host.State      `json:"state"`
	Reason  string          `json:"reason"` // why it is destroyed or out; foreign text
	Gate    Gate            `json:"gate"`   // empty where it is none
	Waiting int             `json:"waiting"`
	Events  []SnapshotEvent `json:"events"` // those that it declares
}

// SnapshotEvent is an [EventStatus].
type SnapshotEvent struct {
	Event       string     `json:"event"`
	Asked       int        `json:"asked"`
	Answered    int        `json:"answered"`
	Blocked     int        `json:"blocked"`
	Failed      int        `json:"failed"`
	Dropped     int        `json:"dropped"`
	LastFired   *time.Time `json:"last_fired"` // nil is never; UTC, to the millisecond
	P50US       int64      `json:"p50_us"`
	P99US       int64      `json:"p99_us"`
	LastFailure string     `json:"last_failure"` // foreign text
}

// keeper writes the snapshots of one bus. Nothing is written before something is fired.
type keeper struct {
	bus   *Bus
	path  string
	began time.Time
	// pending is set from the first change until the write that has it.
	pending atomic.Bool

	mu     sync.Mutex // guards the timer; taken while a queue's is held
	timer  *time.Timer
	closed bool

	writing sync.Mutex // one write at a time; Close waits for it
	swept   bool
	warned  bool
	ended   bool
	held    *os.File // the file that was written last, locked: the sign that the process is there
}

func newKeeper(b *Bus) *keeper {
	return &keeper{bus: b, path: filepath.Join(b.session.Home(), StatusDir, b.session.ID()+snapshotSuffix), began: time.Now()}
}

// changed sees to it that a change is written within [snapshotEvery]. It does not wait.
func (k *keeper) changed() {
	if k.pending.Load() || k.pending.Swap(true) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closed:
	case k.timer == nil:
		k.timer = time.AfterFunc(snapshotEvery, func() { k.write(Running) })
	default:
		k.timer.Reset(snapshotEvery)
	}
}

// close writes the last snapshot, where anything was fired.
func (k *keeper) close() {
	k.mu.Lock()
	k.closed = true
	fired := k.timer != nil || k.pending.Load()
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Unlock()
	if fired {
		k.write(Ended)
	}
}

// write writes how things stand. The logger hears of the first failure alone: what
// follows is as likely to have the same cause, and the session has nothing to do with it.
func (k *keeper) write(state SnapshotState) {
	k.writing.Lock()
	defer k.writing.Unlock()
	if k.ended {
		return
	}
	k.ended = state == Ended
	k.pending.Store(false) // before the counts are read: what comes now is written next
	if err := k.put(k.snapshot(state)); err != nil && !k.warned {
		k.warned = true
		k.bus.logger.Warn("the status of hooks could not be written; loomext status does not show it", "session", k.bus.session.ID(), "error", err)
	}
	if !k.swept {
		k.swept = true
		sweep(filepath.Dir(k.path), time.Now())
	}
	if k.ended && k.held != nil {
		_ = k.held.Close() // a file that was only read and locked since
		k.held = nil
	}
}

// snapshot is how things stand now.
func (k *keeper) snapshot(state SnapshotState) Snapshot {
	s := Snapshot{
		Session: k.bus.session.ID(), State: state, PID: os.Getpid(), Program: filepath.Base(os.Args[0]),
		Began: stamp(k.began), Updated: stamp(time.Now()), Extensions: []SnapshotExtension{},
	}
	for _, x := range k.bus.Status() {
		extension := SnapshotExtension{
			Name: x.Name, State: x.State, Reason: shortened(x.Reason, maxSnapshotText), Gate: x.Gate, Waiting: x.Waiting, Events: []SnapshotEvent{},
		}
		for _, e := range x.Events {
			event := SnapshotEvent{
				Event: e.Event, Asked: e.Asked, Answered: e.Answered, Blocked: e.Blocked, Failed: e.Failed, Dropped: e.Dropped,
				P50US: e.P50.Microseconds(), P99US: e.P99.Microseconds(), LastFailure: shortened(e.LastFailure, maxSnapshotText),
			}
			if !e.LastFired.IsZero() {
				at := stamp(e.LastFired)
				event.LastFired = &at
			}
			extension.Events = append(extension.Events, event)
		}
		s.Extensions = append(s.Extensions, extension)
	}
	return s
}

func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// put writes a snapshot whole: beside its place, and then by one rename. The file stays
// open and locked until the next is in its place, and nobody needs to write to it again.
func (k *keeper) put(s Snapshot) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(k.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, scrapPrefix) // for its owner alone
	if err != nil {
		return err
	}
	hold(f)
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = os.Rename(f.Name(), k.path)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
		return err
	}
	if k.held != nil {
		_ = k.held.Close()
	}
	k.held = f
	return nil
}

// Snapshots are those that the sessions of a home have left, the one that was updated
// last at the end. A file that is none is in damaged, by its path. Where nothing was ever
// left there are none, and no error.
func Snapshots(home string) (all []Snapshot, damaged []string, err error) {
	dir := filepath.Join(home, StatusDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		if os.IsNotExist(err) {
			err = nil
		}
		return nil, nil, err
	}
	for _, entry := range entries {
		session, ok := strings.CutSuffix(entry.Name(), snapshotSuffix)
		if !ok || !entry.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		text, alive, err := look(path)
		if os.IsNotExist(err) {
			continue // swept in between
		}
		var s Snapshot
		if err != nil || json.Unmarshal(text, &s) != nil || s.Session != session || s.State != Running && s.State != Ended {
			damaged = append(damaged, path)
			continue
		}
		if !alive {
			s.State = Ended
		}
		s.fillIn()
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b Snapshot) int { return a.Updated.Compare(b.Updated) })
	return all, damaged, nil
}

// fillIn makes lists of those that a file does not have: a reader of ours may be older or
// younger than what wrote it.
func (s *Snapshot) fillIn() {
	if s.Extensions == nil {
		s.Extensions = []SnapshotExtension{}
	}
	for i := range s.Extensions {
		if s.Extensions[i].Events == nil {
			s.Extensions[i].Events = []SnapshotEvent{}
		}
	}
}

// look reads a file, and says whether the process that wrote it still holds it.
func look(path string) (text []byte, alive bool, err error) {
	for {
		text, alive, err = lookOnce(path)
		if err != errReplaced {
			return text, alive, err
		}
	}
}

// sweep removes what is too old or too much, of sessions that have ended. That it cannot
// is no matter: the next bus tries again.
func sweep(dir string, now time.Time) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	var kept []fs.FileInfo
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		switch age := now.Sub(info.ModTime()); {
		case strings.HasSuffix(info.Name(), snapshotSuffix):
			kept = append(kept, info)
		case strings.HasPrefix(info.Name(), scrapPrefix) && age > maxScrapAge:
			_ = os.Remove(filepath.Join(dir, info.Name()))
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for i, info := range kept {
		path := filepath.Join(dir, info.Name())
		if i < maxSnapshots && now.Sub(info.ModTime()) <= maxSnapshotAge {
			continue
		}
		if _, alive, err := look(path); err == nil && !alive {
			_ = os.Remove(path)
		}
	}
}
