package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// MaxData is the size of one artifact, in bytes: a frame of the channel less what stands around it.
	MaxData = 15 << 20

	// dirMode and fileMode keep artifacts to their owner: they are what an extension made of a user's work.
	dirMode  = 0o700
	fileMode = 0o600

	dataSuffix   = ".data"
	recordSuffix = ".json"
	// unfinished comes before the name of a file that is being written. No id has a dot.
	unfinished = ".new-"
)

// Store is a directory of artifacts. Its methods may be called at once, by any number of processes.
type Store struct {
	dir   string
	limit bounds

	mu     sync.Mutex
	last   id
	known  map[id]held // when the directory was looked at last
	unseen int64       // bytes that may still be put before it is looked at again
	puts   int         // how many more artifacts, likewise
}

// Open names a store. It touches nothing: one that is not there is empty, and the first Put makes it.
func Open(dir string) *Store { return &Store{dir: dir, limit: defaultBounds} }

// Put keeps data, at most [MaxData] bytes, under a new id that sorts after every earlier one of this process. The data
// is copied to the disk before it returns. The error is an [*Error]: Invalid, Full or Failed.
func (s *Store) Put(m Meta, data []byte) (Artifact, error) {
	if err := m.check(); err != nil {
		return Artifact{}, err
	}
	if len(data) > MaxData {
		return Artifact{}, &Error{Kind: Invalid, Msg: "the data has more than " + mebibytes(MaxData)}
	}
	if err := os.MkdirAll(s.dir, dirMode); err != nil {
		return Artifact{}, failed("make the store", err)
	}
	n, err := s.admit(m.Extension, int64(len(data)))
	if err != nil {
		return Artifact{}, err
	}
	digest := sha256.Sum256(data)
	a := Artifact{
		ID: n.String(), Extension: m.Extension, Session: m.Session, Name: m.Name, ContentType: m.ContentType,
		Size: int64(len(data)), SHA256: hex.EncodeToString(digest[:]), Created: n.time(),
	}
	record, err := json.Marshal(a)
	if err != nil {
		return Artifact{}, failed("write a record", err)
	}
	if err := s.write(a.ID+dataSuffix, data); err != nil {
		return Artifact{}, failed("write an artifact", err)
	}
	if err := s.write(a.ID+recordSuffix, record); err != nil {
		_ = os.Remove(s.path(a.ID + dataSuffix))
		return Artifact{}, failed("write a record", err)
	}
	return a, nil
}

// Get is the artifact with an id. The error is an [*Error]: Invalid for what is no id, NotFound, or Failed.
func (s *Store) Get(text string) (Artifact, error) {
	n, err := parse(text)
	if err != nil {
		return Artifact{}, err
	}
	a, err := readRecord(s.path(n.String()+recordSuffix), n)
	if err != nil {
		return Artifact{}, err
	}
	// A power cut may keep a rename and lose what was written before it.
	info, err := os.Lstat(s.path(a.ID + dataSuffix))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Artifact{}, absent(a.ID)
	case err != nil:
		return Artifact{}, failed("look at "+a.ID, err)
	case !info.Mode().IsRegular() || info.Size() != a.Size:
		return Artifact{}, &Error{Kind: NotFound, Msg: "the data of " + a.ID + " is damaged; remove it"}
	}
	return a, nil
}

// Path is the file with the data of an artifact that [Store.Get] finds. It is to be read, not changed.
func (s *Store) Path(text string) (string, error) {
	a, err := s.Get(text)
	if err != nil {
		return "", err
	}
	return s.path(a.ID + dataSuffix), nil
}

// List is every whole artifact, the oldest first.
func (s *Store) List() ([]Artifact, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("list the artifacts", err)
	}
	var all []Artifact
	for _, entry := range entries { // sorted by name, so by time
		text, ok := strings.CutSuffix(entry.Name(), recordSuffix)
		if !ok {
			continue
		}
		if a, err := s.Get(text); err == nil {
			all = append(all, a)
		}
	}
	return slices.Clip(all), nil
}

// Remove removes an artifact, damaged ones included. The error is an [*Error]: Invalid, NotFound or Failed.
func (s *Store) Remove(text string) error {
	n, err := parse(text)
	if err != nil {
		return err
	}
	there, err := s.remove(n)
	if err != nil {
		return failed("remove "+n.String(), err)
	}
	if !there {
		return absent(n.String())
	}
	return nil
}

// remove takes the record away first, so that no record is ever without its data.
func (s *Store) remove(n id) (there bool, err error) {
	for _, suffix := range []string{recordSuffix, dataSuffix} {
		switch err := os.Remove(s.path(n.String() + suffix)); {
		case err == nil:
			there = true
		case !errors.Is(err, fs.ErrNotExist):
			return there, err
		}
	}
	return there, nil
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// write makes a whole file appear under a name. It does not wait for the disk: a power cut may lose an artifact, and
// Get tells one that lost its bytes.
func (s *Store) write(name string, data []byte) (err error) {
	staged := s.path(unfinished + name)
	f, err := os.OpenFile(staged, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(staged)
		}
	}()
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(staged, s.path(name))
}

// admit makes room for an artifact and gives it its id. Looking at the directory takes time with what is in it, so it
// is done for the first artifact and then once in a while; in between
// the bounds may be passed by the slack that is one of them.
func (s *Store) admit(extension string, size int64) (id, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.puts == 0 || s.unseen < size {
		if err := s.makeRoom(extension, size, now); err != nil {
			return id{}, err
		}
		s.puts, s.unseen = s.limit.slackCount, s.limit.slackBytes
	}
	s.puts--
	s.unseen -= size
	s.last = s.last.next(now)
	return s.last, nil
}
