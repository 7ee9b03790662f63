package record

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
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
	// SessionLine is the one on which its session began: a later session may have the same name.
	SessionLine int
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
	// Short says that the line ends before its JSON does: it was cut off when its writer was killed, and the next one ended it.
	Short bool
}

// Reader reads a record.
type Reader struct {
	path  string
	file  *os.File
	in    *bufio.Reader
	blobs blobs

	line     int
	cut      bool
	damage   []Damage
	damaged  int
	sessions map[string]*readSession // that have not ended, by name
	lost     []*Entry                // that their session left without an answer, in the order in which they began
	drained  bool
}

// readSession is a session that is being read.
type readSession struct {
	line       int // on which it began
	open       map[int64]*Entry
	extensions map[string]Extension
}

// maxDamage is how many damaged lines are described. Beyond, they are counted: a file that is damaged on every line is not
// to fill the memory.
const maxDamage = 100

// isRecord says of the beginning of a file that it is one of a record.
func isRecord(head []byte) bool { return bytes.HasPrefix(head, []byte(`{"t":"`+lineSession+`",`)) }

// Read opens a record to be read.
func Read(path string) (*Reader, error) {
	file, err := open(path)
	if err != nil {
		return nil, &Error{Path: path, Err: unreadable(err)}
	}
	r := &Reader{path: path, file: file, in: bufio.NewReaderSize(file, 64<<10), blobs: blobsOf(path), sessions: map[string]*readSession{}}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, &Error{Path: path, Err: errors.New("it is no regular file; name a file that --record wrote")}
	}
	if head, _ := r.in.Peek(len(lineSession) + 16); len(head) > 0 && !isRecord(head) {
		_ = file.Close()
		return nil, &Error{Path: path, Line: 1, Err: errors.New("it is no record; name a file that --record wrote")}
	}
	return r, nil
}

// Close closes the file. Values that were read stay good.
func (r *Reader) Close() error { return r.file.Close() }

// Cut says, when Next has come to the end, that the last line was cut off.
func (r *Reader) Cut() bool { return r.cut }

// Damage is which lines could not be read so far, the first hundred of them.
func (r *Reader) Damage() []Damage { return r.damage }

// Damaged is how many lines could not be read so far.
func (r *Reader) Damaged() int { return r.damaged }

// Next is the next invocation, in the order in which they ended; those that did not end come last. At the end the error is
// io.EOF.
func (r *Reader) Next() (*Entry, error) {
	for !r.drained {
		text, err := r.read()
		if err == io.EOF {
			r.drain()
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
			if r.damaged++; r.damaged <= maxDamage {
				var syntax *json.SyntaxError
				short := errors.As(err, &syntax) && syntax.Offset == int64(len(text))
				r.damage = append(r.damage, Damage{r.line, err.Error(), short})
			}
		}
		if entry != nil {
			return entry, nil
		}
	}
	if len(r.lost) == 0 {
		return nil, io.EOF
	}
	entry := r.lost[0]
	r.lost = r.lost[1:]
	return entry, nil
}

// drain is the end of the file, and so of every session.
func (r *Reader) drain() {
	r.drained = true
	for _, s := range r.sessions {
		r.leave(s)
	}
	slices.SortFunc(r.lost, func(a, b *Entry) int { return cmp.Compare(a.Line, b.Line) })
}

// leave is the end of a session: what has no answer will have none.
func (r *Reader) leave(s *readSession) {
	if s != nil {
		r.lost = slices.AppendSeq(r.lost, maps.Values(s.open))
	}
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
			return nil, &Error{Path: r.path, Line: r.line + 1, Err: bare(err)}
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
	Start      int64
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

// maxDeadlineMS is the greatest deadline that is a time.
const maxDeadlineMS = math.MaxInt64 / int64(time.Millisecond)

// take reads one line. It gives the invocation that the line ends.
func (r *Reader) take(text []byte) (*Entry, error) {
	p, ok := scanLine(text)
	if !ok {
		p = parsed{}
		if err := json.Unmarshal(text, &p); err != nil {
			return nil, fmt.Errorf("it is no JSON: %w", err)
		}
	}
	s := r.sessions[p.Session]
	switch p.T {
	case lineSession:
		if p.Format != Format {
			return nil, &Error{Path: r.path, Line: r.line, Err: fmt.Errorf("the record has format %d and this loomext reads %d; read it with the one that wrote it", p.Format, Format)}
		}
		r.leave(s)
		r.sessions[p.Session] = &readSession{line: r.line, open: map[int64]*Entry{}, extensions: map[string]Extension{}}
		return nil, nil
	case lineExtension, lineCall, lineEffect, lineAnswer, lineEnd:
	default:
		return nil, fmt.Errorf("%.50q is no type of line", p.T)
	}
	if s == nil {
		return nil, fmt.Errorf("the session %.50q has not begun, or has ended", p.Session)
	}
	switch p.T {
	case lineExtension:
		return nil, s.extension(p)
	case lineCall:
		return nil, r.begin(s, p)
	case lineEnd:
		r.leave(s)
		delete(r.sessions, p.Session)
		return nil, nil
	}
	e := s.open[p.Call]
	if e == nil {
		return nil, fmt.Errorf("there is no open call %d", p.Call)
	}
	if p.T == lineEffect {
		r.effect(e, p)
		return nil, nil
	}
	delete(s.open, p.Call)
	r.answer(e, p)
	return e, nil
}

func (r *Reader) value(text json.RawMessage, size int64) Value {
	if text == nil {
		text = json.RawMessage("null")
	}
	return Value{text: text, bytes: size, get: r.blobs.get}
}

func (s *readSession) extension(p parsed) error {
	var x Extension
	if err := json.Unmarshal(p.Extension, &x); err != nil {
		return fmt.Errorf("it is no extension: %w", err)
	}
	s.extensions[x.Name] = x
	return nil
}

func (r *Reader) begin(s *readSession, p parsed) error {
	var name string
	if err := json.Unmarshal(p.Extension, &name); err != nil {
		return errors.New("the call names no extension")
	}
	if s.open[p.Call] != nil {
		return fmt.Errorf("call %d is open already", p.Call)
	}
	if p.DeadlineMS < 0 || p.DeadlineMS > maxDeadlineMS {
		return fmt.Errorf("%d milliseconds are no deadline", p.DeadlineMS)
	}
	s.open[p.Call] = &Entry{
		Session: p.Session, Call: p.Call, At: p.At, Line: r.line, SessionLine: s.line, As: s.extensions[name],
		Invocation: Invocation{
			Extension: name, Kind: p.Kind, Name: p.Name, Start: p.Start, Args: r.value(p.Args, p.Bytes),
			Deadline: time.Duration(p.DeadlineMS) * time.Millisecond,
		},
	}
	return nil
}

func (r *Reader) effect(e *Entry, p parsed) {
	effect := Effect{
		Cap: p.Cap, Args: r.value(p.Args, p.Bytes), OK: p.OK, Fault: wire.Fault{Code: p.Code, Msg: p.Msg},
		Began: time.Duration(p.BeganNS), Took: time.Duration(p.TookNS),
	}
	if p.OK {
		effect.Value = r.value(p.Value, p.ValueBytes)
	}
	e.Effects = append(e.Effects, effect)
}

func (r *Reader) answer(e *Entry, p parsed) {
	e.Answered = true
	e.Answer = Answer{Took: time.Duration(p.TookNS), OK: p.OK, Failed: p.Failed, Fault: wire.Fault{Code: p.Code, Msg: p.Msg}}
	if p.OK {
		e.Answer.Value = r.value(p.Value, p.Bytes)
	}
}
