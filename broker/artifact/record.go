package artifact

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// DirName is the directory of a home that holds its artifacts.
const DirName = "artifacts"

// The bounds on what describes an artifact, in bytes.
const (
	// MaxName is as long as a file's name may be on most disks.
	MaxName = 255
	// MaxContentType is longer than any registered type with its parameters.
	MaxContentType = 127
	// maxOwner bounds the extension and the session. Names of extensions are shorter; sessions are named by harnesses.
	maxOwner = 255
	// maxRecord is what a record may have on the disk: its texts, each character as six.
	maxRecord = 16 << 10
)

// Meta is what is said of an artifact by whoever hands it over. All but Session must be there. None of the texts may
// hold a control or a format character.
type Meta struct {
	Extension, Session, Name, ContentType string
}

// Artifact is one kept artifact, as it stands in its record.
type Artifact struct {
	ID          string    `json:"id"`
	Extension   string    `json:"extension"`
	Session     string    `json:"session"`
	Name        string    `json:"name"`
	ContentType string    `json:"content_type"`
	Size        int64     `json:"size"`    // of the data, in bytes
	SHA256      string    `json:"sha256"`  // of the data, in hexadecimal
	Created     time.Time `json:"created"` // UTC, to the millisecond
}

// Kind says what a caller can do about an [Error].
type Kind int

// The kinds of an error.
const (
	Invalid  Kind = iota + 1 // an id or a description that cannot be
	NotFound                 // no artifact has the id
	Full                     // no room, and nothing old enough to go
	Failed                   // the disk
)

// Error is why an artifact was not kept or not found.
type Error struct {
	Kind Kind
	Msg  string
	Err  error // the disk's, where there is one
}

// Error has the layer and the cause.
func (e *Error) Error() string { return "artifact: " + e.Msg }

// Unwrap is the disk's error.
func (e *Error) Unwrap() error { return e.Err }

func failed(doing string, err error) error {
	cause := err // without its paths: the text may reach an extension
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		cause = p.Err
	} else if l, ok := errors.AsType[*os.LinkError](err); ok {
		cause = l.Err
	}
	return &Error{Kind: Failed, Msg: fmt.Sprintf("cannot %s: %v; look at the directory of the artifacts and at its disk", doing, cause), Err: err}
}

func absent(text string) error {
	return &Error{Kind: NotFound, Msg: "there is no artifact " + text + "; it may have been removed to make room"}
}

func (m Meta) check() error {
	for _, t := range []struct {
		what, text string
		most       int
		optional   bool
	}{
		{"extension", m.Extension, maxOwner, false}, {"session", m.Session, maxOwner, true},
		{"name", m.Name, MaxName, false}, {"content type", m.ContentType, MaxContentType, false},
	} {
		switch {
		case t.text == "" && !t.optional:
			return &Error{Kind: Invalid, Msg: "the " + t.what + " is empty"}
		case len(t.text) > t.most:
			return &Error{Kind: Invalid, Msg: "the " + t.what + " has more than " + strconv.Itoa(t.most) + " bytes"}
		case !Plain(t.text):
			return &Error{Kind: Invalid, Msg: "the " + t.what + " holds a control or format character, or is no UTF-8"}
		}
	}
	return nil
}

// Plain reports whether a text is UTF-8 without control and format characters, which could make a person read something
// else than what is there, and without line separators.
func Plain(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}) < 0
}

// readRecord reads the record of an id. A record that is not what Put writes is one that is not there: a disk damaged
// it, or it is somebody else's.
func readRecord(path string, n id) (Artifact, error) {
	text, err := readBounded(path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return Artifact{}, absent(n.String())
	}
	if err != nil {
		return Artifact{}, failed("read the record of "+n.String(), err)
	}
	var a Artifact
	if json.Unmarshal(text, &a) != nil || !a.whole(n) {
		return Artifact{}, &Error{Kind: NotFound, Msg: "the record of " + n.String() + " is damaged; remove it"}
	}
	return a, nil
}

func (a Artifact) whole(n id) bool {
	digest, err := hex.DecodeString(a.SHA256)
	return err == nil && len(digest) == 32 && a.ID == n.String() && a.Size >= 0 && a.Created.Equal(n.time()) &&
		Meta{a.Extension, a.Session, a.Name, a.ContentType}.check() == nil
}

func readBounded(path string, most int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}
