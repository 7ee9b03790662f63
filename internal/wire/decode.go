package wire

import (
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// decoder decodes one payload at a time. Its msgpack decoder is used through primitives alone: the generic ways in recurse
// and allocate as the sender pleases. The forms that are one byte long, which most are, are read here without it.
type decoder struct {
	cursor
	prim   *msgpack.Decoder
	side   Side
	values int // how many elements and entries the frame may still have
}

func newDecoder() *decoder {
	d := new(decoder)
	d.prim = msgpack.NewDecoder(&d.cursor)
	return d
}

var decoders = sync.Pool{New: func() any { return newDecoder() }}

func errTruncated() error { return refuse(RuleTruncated, "the payload ends inside a value") }

// peek is the class of the value that comes next.
func (d *decoder) peek() (class, error) {
	if d.off == len(d.buf) {
		return 0, errTruncated()
	}
	return classOf[d.buf[d.off]], nil
}

// expect is a refusal unless the next value is of the class.
func (d *decoder) expect(want class) error {
	got, err := d.peek()
	if err != nil {
		return err
	}
	if got == want || want == classInt && got == classUint64 {
		return nil
	}
	if got == classExt || got == classUnused {
		return errType(got)
	}
	return refuse(RuleBody, "is "+got.String()+"; want "+want.String())
}

func errType(c class) error { return refuse(RuleType, c.String()+" has no place in a frame") }

func (d *decoder) int() (int64, error) {
	if err := d.expect(classInt); err != nil {
		return 0, err
	}
	code := d.buf[d.off]
	if msgpcode.IsFixedNum(code) {
		d.off++
		return int64(int8(code)), nil
	}
	large := code == msgpcode.Uint64
	n, err := d.prim.DecodeInt64()
	if err != nil {
		return 0, errTruncated()
	}
	if large && n < 0 {
		return 0, refuse(RuleInteger, strconv.FormatUint(uint64(n), 10)+" is no 64-bit signed integer")
	}
	return n, nil
}

func (d *decoder) bool() (bool, error) {
	if err := d.expect(classBool); err != nil {
		return false, err
	}
	b, err := d.prim.DecodeBool()
	if err != nil {
		return false, errTruncated()
	}
	return b, nil
}

// bytes slices a str's or a bin's bytes out of the payload. Appending to them cannot reach what follows.
func (d *decoder) bytes() ([]byte, error) {
	var n int
	if code := d.buf[d.off]; msgpcode.IsFixedString(code) {
		n = int(code & msgpcode.FixedStrMask)
		d.off++
	} else {
		var err error
		if n, err = d.prim.DecodeBytesLen(); err != nil {
			return nil, errTruncated()
		}
	}
	if n < 0 || n > d.left() {
		return nil, errTruncated()
	}
	b := d.buf[d.off : d.off+n : d.off+n]
	d.off += n
	return b, nil
}

func (d *decoder) bin() ([]byte, error) {
	if err := d.expect(classBin); err != nil {
		return nil, err
	}
	return d.bytes()
}

func (d *decoder) str() ([]byte, error) {
	if err := d.expect(classStr); err != nil {
		return nil, err
	}
	b, err := d.bytes()
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, refuse(RuleUTF8, "a str is no UTF-8")
	}
	return b, nil
}

// key reads a map's key.
func (d *decoder) key() ([]byte, error) {
	got, err := d.peek()
	if err != nil {
		return nil, err
	}
	if got != classStr {
		return nil, refuse(RuleKey, "a map key is "+got.String()+"; want a str")
	}
	return d.str()
}

// mapLen enters a map at the depth and returns the number of its entries, which the bytes that remain can hold and which
// are paid for.
func (d *decoder) mapLen(depth int) (int, error) {
	if err := d.expect(classMap); err != nil {
		return 0, err
	}
	if code := d.buf[d.off]; msgpcode.IsFixedMap(code) {
		d.off++
		return d.enter(int(code&msgpcode.FixedMapMask), nil, depth, 2)
	}
	n, err := d.prim.DecodeMapLen()
	return d.enter(n, err, depth, 2)
}

// listLen is mapLen for a list and its elements.
func (d *decoder) listLen(depth int) (int, error) {
	if err := d.expect(classList); err != nil {
		return 0, err
	}
	if code := d.buf[d.off]; msgpcode.IsFixedArray(code) {
		d.off++
		return d.enter(int(code&msgpcode.FixedArrayMask), nil, depth, 1)
	}
	n, err := d.prim.DecodeArrayLen()
	return d.enter(n, err, depth, 1)
}

// enter judges a container's length before anything is allocated for it: each item takes at least the given bytes, and all
// containers of a frame draw on one budget, so that many small promises cost no more than one large.
func (d *decoder) enter(n int, err error, depth, least int) (int, error) {
	switch {
	case err != nil || n < 0 || n > d.left()/least:
		return 0, errTruncated()
	case depth > MaxDepth:
		return 0, refuse(RuleDepth, "nested deeper than "+strconv.Itoa(MaxDepth))
	case n > d.values:
		return 0, refuse(RuleValues, "more than "+strconv.Itoa(MaxValues)+" elements and entries in one frame")
	}
	d.values -= n
	return n, nil
}

// value reads any value into v, in place, for a Value is too large to hand up through every level; depth is that of the
// container around it.
func (d *decoder) value(v *Value, depth int) error {
	next, err := d.peek()
	if err != nil {
		return err
	}
	switch next {
	case classNil:
		d.off++
	case classBool:
		var b bool
		b, err = d.bool()
		*v = Bool(b)
	case classInt, classUint64:
		var n int64
		n, err = d.int()
		*v = Int(n)
	case classFloat:
		f, unread := d.prim.DecodeFloat64()
		if unread != nil {
			return errTruncated()
		}
		*v = Float(f)
	case classStr:
		v.typ = TypeString
		v.raw, err = d.str()
	case classBin:
		v.typ = TypeBin
		v.raw, err = d.bytes()
	case classList:
		v.typ = TypeList
		v.list, err = d.list(depth + 1)
	case classMap:
		v.typ = TypeMap
		v.fields, err = d.mapping(depth + 1)
	default:
		err = errType(next)
	}
	return err
}

func (d *decoder) list(depth int) ([]Value, error) {
	n, err := d.listLen(depth)
	if err != nil || n == 0 {
		return nil, err
	}
	list := make([]Value, n)
	for i := range list {
		if err := d.value(&list[i], depth); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (d *decoder) mapping(depth int) ([]Field, error) {
	n, err := d.mapLen(depth)
	if err != nil || n == 0 {
		return nil, err
	}
	fields := make([]Field, n)
	seen := keysOf(n)
	for i := range fields {
		key, err := d.key()
		if err != nil {
			return nil, err
		}
		fields[i].Key = intern(key)
		if seen.twice(fields[:i], fields[i].Key) {
			return nil, refuse(RuleDuplicate, "a map has the key "+quote(key)+" twice")
		}
		if err := d.value(&fields[i].Value, depth); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// fewKeys is up to how many keys a map is searched for a duplicate by comparing each with each, which needs no memory. A
// larger one pays for a set, because comparing would take time with the square of its size.
const fewKeys = 16

// keys notices the second coming of a key. The nil one suits a map of few.
type keys map[string]struct{}

func keysOf(n int) keys {
	if n <= fewKeys {
		return nil
	}
	return make(keys, min(n, 1024))
}

// twice reports whether the key has come before; before is what came, for a map of few.
func (k keys) twice(before []Field, key string) bool {
	if k == nil {
		for i := range before {
			if before[i].Key == key {
				return true
			}
		}
		return false
	}
	if _, ok := k[key]; ok {
		return true
	}
	k[key] = struct{}{}
	return false
}

// familiar are the keys that the protocol's own arguments and values use, so that a map of them needs no copy of its keys.
var familiar = func() map[string]string {
	table := make(map[string]string)
	for _, key := range []string{"args", "strand", "content", "terminate", "type", "text", "json", "name", "content_type", "bytes", "id",
		"code", "msg", "key", "value", "path", "contents", "found", "entries", "is_dir", "edits", "find", "replace_with", "method", "url", "headers",
		"body", "status", "argv", "stdin", "timeout_ms", "exit", "stdout", "stderr", "truncated", "unix_ns", "n"} {
		table[key] = key
	}
	return table
}()

// intern is a key as a string.
func intern(key []byte) string {
	if s, ok := familiar[string(key)]; ok {
		return s
	}
	return string(key)
}
