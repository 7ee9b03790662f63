package record

import (
	"bytes"
	"strconv"
	"sync"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// The types of a line.
const (
	lineSession   = "session"
	lineExtension = "extension"
	lineCall      = "call"
	lineEffect    = "effect"
	lineAnswer    = "answer"
	lineEnd       = "end"
)

// line is a line that is being written: keys after the first. Its end is the writer's.
type line struct{ encoder }

// lines are for use again: many are made, and none lives long.
var lines = sync.Pool{New: func() any { return new(line) }}

// maxKept is how long a line may be whose memory is kept for the next. Few are longer, and one may be very long.
const maxKept = 64 << 10

func newLine(kind, session string, keep spill) *line {
	l := lines.Get().(*line)
	l.keep = keep
	l.dst, l.err = l.dst[:0], nil
	l.dst = append(l.dst, `{"t":"`...)
	l.dst = append(l.dst, kind...)
	l.dst = append(l.dst, '"')
	l.str("session", session)
	return l
}

func (l *line) free() {
	if cap(l.dst) <= maxKept {
		lines.Put(l)
	}
}

func (l *line) key(key string) {
	l.dst = append(l.dst, `,"`...)
	l.dst = append(l.dst, key...)
	l.dst = append(l.dst, `":`...)
}

func (l *line) str(key, value string) {
	l.key(key)
	l.dst = appendText(l.dst, value)
}

func (l *line) int(key string, n int64) {
	l.key(key)
	l.dst = strconv.AppendInt(l.dst, n, 10)
}

func (l *line) bool(key string, b bool) {
	l.key(key)
	l.dst = strconv.AppendBool(l.dst, b)
}

func (l *line) at(t time.Time) {
	l.key("at")
	l.dst = append(l.dst, '"')
	l.dst = t.UTC().AppendFormat(l.dst, time.RFC3339Nano)
	l.dst = append(l.dst, '"')
}

// body writes a value and how much it holds.
func (l *line) body(key, size string, v wire.Value) {
	l.key(key)
	l.bytes = 0
	l.value(v)
	l.int(size, l.bytes)
}

// size is how many bytes the texts and bytes of a value have together.
func size(v wire.Value) int {
	n := 0
	if text, ok := v.AsText(); ok {
		n += len(text)
	} else if b, ok := v.AsBin(); ok {
		n += len(b)
	}
	list, _ := v.AsList()
	for _, item := range list {
		n += size(item)
	}
	fields, _ := v.AsMap()
	for _, f := range fields {
		n += len(f.Key) + size(f.Value)
	}
	return n
}

// copied is a value that nobody else can change, and its size.
func copied(v wire.Value) (wire.Value, int) {
	switch v.Type() {
	case wire.TypeString:
		text, _ := v.AsText()
		return wire.Text(bytes.Clone(text)), len(text)
	case wire.TypeBin:
		b, _ := v.AsBin()
		return wire.Bin(bytes.Clone(b)), len(b)
	case wire.TypeList:
		list, _ := v.AsList()
		all, n := make([]wire.Value, len(list)), 0
		for i, item := range list {
			one, size := copied(item)
			all[i] = one
			n += size
		}
		return wire.List(all...), n
	case wire.TypeMap:
		fields, _ := v.AsMap()
		all, n := make([]wire.Field, len(fields)), 0
		for i, f := range fields {
			one, size := copied(f.Value)
			all[i] = wire.Field{Key: f.Key, Value: one}
			n += len(f.Key) + size
		}
		return wire.Map(all...), n
	}
	return v, 0
}

func (l *line) fault(f wire.Fault) {
	l.str("code", f.Code)
	l.str("msg", f.Msg)
}
