package wire

import (
	"io"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// class is what the first byte of an encoded value announces.
type class uint8

const (
	classUnused class = iota // the one byte that MessagePack never uses
	classNil
	classBool
	classInt
	classUint64 // the one integer that may not fit
	classFloat
	classStr
	classBin
	classList
	classMap
	classExt
)

var classNames = [...]string{"an unused code", "nil", "a bool", "an int", "an int", "a float", "a str", "a bin", "a list",
	"a map", "an extension type"}

func (c class) String() string { return classNames[c] }

// classOf holds the class of every byte. It is asked before every primitive, because the primitives take one type for another:
// nil for zero, a bin for a str, a large unsigned integer for a negative one.
var classOf = func() (table [256]class) {
	for i := range table {
		switch c := byte(i); {
		case msgpcode.IsFixedNum(c), c >= msgpcode.Uint8 && c <= msgpcode.Uint32, c >= msgpcode.Int8 && c <= msgpcode.Int64:
			table[i] = classInt
		case c == msgpcode.Uint64:
			table[i] = classUint64
		case c == msgpcode.Nil:
			table[i] = classNil
		case c == msgpcode.False, c == msgpcode.True:
			table[i] = classBool
		case c == msgpcode.Float, c == msgpcode.Double:
			table[i] = classFloat
		case msgpcode.IsString(c):
			table[i] = classStr
		case msgpcode.IsBin(c):
			table[i] = classBin
		case msgpcode.IsFixedArray(c), c == msgpcode.Array16, c == msgpcode.Array32:
			table[i] = classList
		case msgpcode.IsFixedMap(c), c == msgpcode.Map16, c == msgpcode.Map32:
			table[i] = classMap
		case msgpcode.IsExt(c):
			table[i] = classExt
		}
	}
	return table
}()

// cursor is a place in a payload. The msgpack decoder reads codes and numbers through it; the bytes of texts and bins are
// sliced from it and never pass through the decoder, which would copy them.
type cursor struct {
	buf []byte
	off int
}

func (c *cursor) Read(p []byte) (int, error) {
	if c.off == len(c.buf) && len(p) > 0 {
		return 0, io.EOF
	}
	n := copy(p, c.buf[c.off:])
	c.off += n
	return n, nil
}

func (c *cursor) ReadByte() (byte, error) {
	if c.off == len(c.buf) {
		return 0, io.EOF
	}
	c.off++
	return c.buf[c.off-1], nil
}

func (c *cursor) UnreadByte() error {
	if c.off == 0 {
		return io.ErrNoProgress
	}
	c.off--
	return nil
}

func (c *cursor) left() int { return len(c.buf) - c.off }
