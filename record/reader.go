package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// maxLine bounds one line, in bytes: a frame holds at most so many values, and the long ones among them stand in files. A
// value of one byte in a frame may take some in JSON.
const maxLine = 4 * wire.MaxFrame

// Entry is an invocation that was read, with its effects in the order in which they ended.
type Entry struct {
	Session string
	Call    int64 // its number in the session, from 1
	At      time.Time
	Line    int // on which it began
	Invocation
	As       Extension // what the extension was; the zero value where the record does not say
	Effects  []Effect
	Answered bool // false where the record ends before it does
	Answer   Answer
}

// Damage is a line that could not be read. What others say stands.
type Damage struct {
	Line int
	Why  string
}

// Reader reads a record.
type Reader struct {
	path  string
	file  *os.File
	in    *bufio.Reader
	blobs blobs

	line       int
	cut        bool
	damage     []Damage
	open       []*Entry // in the order in which they began
	extensions map[[2]string]Extension
	drained    bool
}

// isRecord says of the beginning of a file that it is one of a record.
func isRecord(head []byte) bool { return bytes.HasPrefix(head, []byte(`{"t":"`+lineSession+`",`)) }

// Read opens a record to be read.
func Read(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, &Error{Path: path, Err: err}
	}
	r := &Reader{path: path, file: file, in: bufio.NewReaderSize(file, 64<<10), blobs: blobsOf(path), extensions: map[[2]string]Extension{}}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, &Error{Path: path, Err: errors.New("it is no regular file")}
	}
	if head, _ := r.in.Peek(len(lineSession) + 16); len(head) > 0 && !isRecord(head) {
		_ = file.Close()
		return nil, &Error{Path: path, Line: 1, Err: errors.New("it is no record; a record is what --record wrote")}
	}
	return r, nil
}

// Close closes the file. Values that were read stay good.
func (r *Reader) Close() error { return r.file.Close() }

// Cut says, when Next has come to the end, that the last line was cut off.
func (r *Reader) Cut() bool { return r.cut }

// Damage is which lines could not be read so far.
func (r *Reader) Damage() []Damage { return r.damage }

// Next is the next invocation, in the order in which they ended; those that did not end come last. At the end the error is
// io.EOF.
func (r *Reader) Next() (*Entry, error) {
	for !r.drained {
		text, err := r.read()
		if err == io.EOF {
			r.drained = true
			break
		}
		if err != nil {
			return nil, err
		}
		entry, err := r.take(text)
		var wrong *Error
		if errors.As(err, &wrong) {
			return nil, err
		}
		if err != nil {
			r.damage = append(r.damage, Damage{r.line, err.Error()})
		}
		if entry != nil {
			return entry, nil
		}
	}
	if len(r.open) == 0 {
		return nil, io.EOF
	}
	entry := r.open[0]
	r.open = r.open[1:]
	return entry, nil
}

// read is the next line, without its end. The error is io.EOF also where the last line was cut off.
func (r *Reader) read() ([]byte, error) {
	var text []byte
	for {
		part, err := r.in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == nil:
			r.line++
			return text[:len(text)-1], nil
		case err == io.EOF:
			r.cut = len(text) > 0
			return nil, io.EOF
		case err != bufio.ErrBufferFull:
			return nil, &Error{Path: r.path, Line: r.line + 1, Err: err}
		case len(text) > maxLine:
			return nil, &Error{Path: r.path, Line: r.line + 1, Err: fmt.Errorf("the line is longer than %d MiB; it is no record", maxLine>>20)}
		}
	}
}

// parsed is a line of any type.
type parsed struct {
	T          string
	Session    string
	Format     int
	At         time.Time
	Call       int64
	Extension  json.RawMessage // the name, or all of it on a line of its own
	Kind       string
	Name       string
	DeadlineMS int64 `json:"deadline_ms"`
	Args       json.RawMessage
	Bytes      int64
	Cap        string
	BeganNS    int64 `json:"began_ns"`
	TookNS     int64 `json:"took_ns"`
	OK         bool
	Value      json.RawMessage
	ValueBytes int64 `json:"value_bytes"`
	Failed     string
	Code       string
	Msg        string
}

// take reads one line. It gives the invocation that the line ends.
func (r *Reader) take(text []byte) (*Entry, error) {
	var p parsed
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	switch p.T {
	case lineSession:
		if p.Format != Format {
			return nil, &Error{Path: r.path, Line: r.line, Err: fmt.Errorf("the record has format %d and this loomext reads %d", p.Format, Format)}
		}
		return nil, nil
	case lineEnd:
		return nil, nil
	case lineExtension:
		var x Extension
		if err := json.Unmarshal(p.Extension, &x); err != nil {
			return nil, fmt.Errorf("it is no extension: %w", err)
		}
		r.extensions[[2]string{p.Session, x.Name}] = x
		return nil, nil
	case lineCall:
		return nil, r.begin(p)
	case lineEffect:
		return nil, r.effect(p)
	case lineAnswer:
		return r.answer(p)
	}
	return nil, fmt.Errorf("%q is no type of line", p.T)
}

func (r *Reader) value(text json.RawMessage, size int64) Value {
	if text == nil {
		text = json.RawMessage("null")
	}
	return Value{text: text, bytes: size, get: r.blobs.get}
}

func (r *Reader) begin(p parsed) error {
	var name string
	if err := json.Unmarshal(p.Extension, &name); err != nil {
		return errors.New("the call names no extension")
	}
	if _, e := r.find(p); e != nil {
		return fmt.Errorf("call %d is open already", p.Call)
	}
	r.open = append(r.open, &Entry{
		Session: p.Session, Call: p.Call, At: p.At, Line: r.line, As: r.extensions[[2]string{p.Session, name}],
		Invocation: Invocation{
			Extension: name, Kind: p.Kind, Name: p.Name, Args: r.value(p.Args, p.Bytes),
			Deadline: time.Duration(p.DeadlineMS) * time.Millisecond,
		},
	})
	return nil
}

// find is the open invocation that a line belongs to.
func (r *Reader) find(p parsed) (int, *Entry) {
	for i, e := range r.open {
		if e.Call == p.Call && e.Session == p.Session {
			return i, e
		}
	}
	return 0, nil
}

func (r *Reader) effect(p parsed) error {
	_, e := r.find(p)
	if e == nil {
		return fmt.Errorf("there is no open call %d", p.Call)
	}
	effect := Effect{
		Cap: p.Cap, Args: r.value(p.Args, p.Bytes), OK: p.OK, Fault: wire.Fault{Code: p.Code, Msg: p.Msg},
		Began: time.Duration(p.BeganNS), Took: time.Duration(p.TookNS),
	}
	if p.OK {
		effect.Value = r.value(p.Value, p.ValueBytes)
	}
	e.Effects = append(e.Effects, effect)
	return nil
}

func (r *Reader) answer(p parsed) (*Entry, error) {
	i, e := r.find(p)
	if e == nil {
		return nil, fmt.Errorf("there is no open call %d", p.Call)
	}
	r.open = append(r.open[:i], r.open[i+1:]...)
	e.Answered = true
	e.Answer = Answer{Took: time.Duration(p.TookNS), OK: p.OK, Failed: p.Failed, Fault: wire.Fault{Code: p.Code, Msg: p.Msg}}
	if p.OK {
		e.Answer.Value = r.value(p.Value, p.Bytes)
	}
	return e, nil
}
