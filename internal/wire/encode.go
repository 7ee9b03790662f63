package wire

import (
	"encoding/binary"
	"math"
	"sync"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// AppendHookCall appends a hook_call, header included. On an error dst comes back as it was, as it does from every Append
// function.
func AppendHookCall(dst []byte, id int64, c HookCall) ([]byte, error) {
	if id < 1 {
		return dst, ErrShape
	}
	e := begin(dst, id, KindHookCall)
	e.mapLen(len(hookCallFields), bodyDepth)
	e.name("token")
	e.bin(c.Token)
	e.name("kind")
	e.str(c.Kind)
	e.name("name")
	e.str(c.Name)
	e.name("args")
	e.value(&c.Args, bodyDepth)
	e.name("deadline_ms")
	e.int(c.DeadlineMS)
	return e.end(dst)
}

// AppendCapCall appends a cap_call. Its arguments must be a map.
func AppendCapCall(dst []byte, id int64, c CapCall) ([]byte, error) {
	if c.Args.typ != TypeMap {
		return dst, ErrShape
	}
	e := begin(dst, id, KindCapCall)
	e.mapLen(len(capCallFields), bodyDepth)
	e.name("token")
	e.bin(c.Token)
	e.name("cap")
	e.str(c.Cap)
	e.name("args")
	e.value(&c.Args, bodyDepth)
	e.name("deadline_ms")
	e.int(c.DeadlineMS)
	return e.end(dst)
}

// AppendResult appends a hook_result or a cap_result.
func AppendResult(dst []byte, kind Kind, id int64, r Result) ([]byte, error) {
	if kind != KindHookResult && kind != KindCapResult {
		return dst, ErrShape
	}
	e := begin(dst, id, kind)
	e.mapLen(2, bodyDepth)
	e.name("ok")
	e.bool(r.OK)
	if r.OK {
		e.name("value")
		e.value(&r.Value, bodyDepth)
		return e.end(dst)
	}
	e.name("error")
	e.mapLen(2, bodyDepth+1)
	e.name("code")
	e.str(r.Fault.Code)
	e.name("msg")
	e.str(r.Fault.Msg)
	return e.end(dst)
}

// AppendCancel appends a cancel of the call with the id. From a host, id 0 says that no more calls will come.
func AppendCancel(dst []byte, id int64) []byte { return appendEmpty(dst, id, KindCancel) }

// AppendHeartbeat appends a heartbeat.
func AppendHeartbeat(dst []byte) []byte { return appendEmpty(dst, 0, KindHeartbeat) }

func appendEmpty(dst []byte, id int64, kind Kind) []byte {
	e := begin(dst, id, kind)
	e.mapLen(0, bodyDepth)
	dst, _ = e.end(dst) // some twenty bytes always fit
	return dst
}

// The longest text, and the largest map, whose length is part of the code before it.
const (
	fixStr = 31
	fixMap = 15
)

// encoder appends one frame to a buffer. The first thing that cannot be written stays its error and stops the writing.
type encoder struct {
	buf    []byte
	prim   *msgpack.Encoder
	start  int // of the payload in buf
	values int // how many elements and entries the frame may still have
	err    error
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.prim = msgpack.NewEncoder((*sink)(e))
	return e
}}

// sink is where the msgpack encoder writes: the end of the buffer, for as long as the frame is not too long.
type sink encoder

func (s *sink) Write(p []byte) (int, error) {
	if len(p) > MaxFrame-(len(s.buf)-s.start) {
		return 0, ErrTooLarge
	}
	s.buf = append(s.buf, p...)
	return len(p), nil
}

func (s *sink) WriteByte(c byte) error {
	if len(s.buf)-s.start >= MaxFrame {
		return ErrTooLarge
	}
	s.buf = append(s.buf, c)
	return nil
}

// begin starts a frame behind dst: its header, to be filled in, and the payload up to the body.
func begin(dst []byte, id int64, kind Kind) *encoder {
	e := encoders.Get().(*encoder)
	e.buf = append(dst, 0, 0, 0, 0)
	e.start, e.values, e.err = len(e.buf), MaxValues, nil
	e.mapLen(len(envelopeFields), payloadDepth)
	e.name("v")
	e.int(Version)
	e.name("id")
	e.int(id)
	e.name("kind")
	e.name(string(kind))
	e.name("body")
	return e
}

// end fills in the header and lets go of the encoder.
func (e *encoder) end(dst []byte) ([]byte, error) {
	buf, err := e.buf, e.err
	if err == nil {
		binary.BigEndian.PutUint32(buf[e.start-headerLen:], uint32(len(buf)-e.start))
	}
	e.buf = nil
	encoders.Put(e)
	if err != nil {
		return dst, err
	}
	return buf, nil
}

func (e *encoder) check(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *encoder) fail(err error) bool {
	e.check(err)
	return e.err != nil
}

// fits reports whether n more bytes fit the frame, so that they can be appended without the msgpack encoder. That is done for the
// forms that have their length in their code, which most are.
func (e *encoder) fits(n int) bool { return e.err == nil && n <= MaxFrame-(len(e.buf)-e.start) }

// name writes a text that is known to be UTF-8.
func (e *encoder) name(s string) {
	if len(s) <= fixStr && e.fits(1+len(s)) {
		e.buf = append(append(e.buf, msgpcode.FixedStrLow|byte(len(s))), s...)
		return
	}
	e.check(e.prim.EncodeString(s))
}

func (e *encoder) int(n int64) {
	if 0 <= n && n <= int64(msgpcode.PosFixedNumHigh) && e.fits(1) {
		e.buf = append(e.buf, byte(n))
		return
	}
	e.check(e.prim.EncodeInt(n))
}

func (e *encoder) bool(b bool) {
	code := msgpcode.False
	if b {
		code = msgpcode.True
	}
	e.check((*sink)(e).WriteByte(code))
}

// bin writes bytes. An empty one is an empty bin, also where the slice is nil.
func (e *encoder) bin(b []byte) {
	if e.fail(e.prim.EncodeBytesLen(len(b))) {
		return
	}
	_, err := (*sink)(e).Write(b)
	e.check(err)
}

func (e *encoder) str(s string) {
	if !utf8.ValidString(s) {
		s = string(valid([]byte(s)))
	}
	e.name(s)
}

// text is str for bytes, which the msgpack encoder would take only as a string, and so as a copy.
func (e *encoder) text(b []byte) {
	if !utf8.Valid(b) {
		b = valid(b)
	}
	var head [5]byte
	h := head[:0]
	switch n := len(b); {
	case n <= fixStr:
		h = append(h, msgpcode.FixedStrLow|byte(n))
	case n <= math.MaxUint8:
		h = append(h, msgpcode.Str8, byte(n))
	case n <= math.MaxUint16:
		h = binary.BigEndian.AppendUint16(append(h, msgpcode.Str16), uint16(n))
	case n <= MaxFrame:
		h = binary.BigEndian.AppendUint32(append(h, msgpcode.Str32), uint32(n))
	default:
		e.check(ErrTooLarge)
		return
	}
	if _, err := (*sink)(e).Write(h); e.fail(err) {
		return
	}
	_, err := (*sink)(e).Write(b)
	e.check(err)
}

// valid replaces every byte that is no part of UTF-8 by U+FFFD. What no frame could hold anyway is left alone.
func valid(b []byte) []byte {
	if len(b) > MaxFrame {
		return b
	}
	out := make([]byte, 0, len(b)+utf8.UTFMax)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	return out
}

// enter pays for a container of n items at the depth.
func (e *encoder) enter(n, depth int) bool {
	switch {
	case depth > MaxDepth:
		return !e.fail(ErrTooDeep)
	case n > e.values:
		return !e.fail(ErrTooMany)
	}
	e.values -= n
	return e.err == nil
}

func (e *encoder) mapLen(n, depth int) {
	switch {
	case !e.enter(n, depth):
	case n <= fixMap && e.fits(1):
		e.buf = append(e.buf, msgpcode.FixedMapLow|byte(n))
	default:
		e.check(e.prim.EncodeMapLen(n))
	}
}

// value writes any value; depth is that of the container around it.
func (e *encoder) value(v *Value, depth int) {
	if e.err != nil {
		return
	}
	switch v.typ {
	case TypeNil:
		e.check(e.prim.EncodeNil())
	case TypeBool:
		e.bool(v.num != 0)
	case TypeInt:
		e.int(int64(v.num))
	case TypeFloat:
		e.check(e.prim.EncodeFloat64(math.Float64frombits(v.num)))
	case TypeString:
		e.text(v.raw)
	case TypeBin:
		e.bin(v.raw)
	case TypeList:
		if !e.enter(len(v.list), depth+1) || e.fail(e.prim.EncodeArrayLen(len(v.list))) {
			return
		}
		for i := range v.list {
			e.value(&v.list[i], depth+1)
		}
	case TypeMap:
		e.mapping(v.fields, depth+1)
	}
}

func (e *encoder) mapping(fields []Field, depth int) {
	e.mapLen(len(fields), depth)
	seen := keysOf(len(fields))
	for i := range fields {
		if e.err != nil {
			return
		}
		key := fields[i].Key
		if !utf8.ValidString(key) {
			key = string(valid([]byte(key)))
			if seen == nil { // the replaced key is not what the fields hold
				seen = replaced(fields[:i])
			}
		}
		if seen.twice(fields[:i], key) {
			e.check(ErrDuplicate)
			return
		}
		e.name(key)
		e.value(&fields[i].Value, depth)
	}
}

// replaced is the set of the keys as they were written.
func replaced(fields []Field) keys {
	set := make(keys, len(fields))
	for i := range fields {
		set[fields[i].Key] = struct{}{}
	}
	return set
}
