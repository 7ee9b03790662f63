package record

import (
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

func newLine(kind, session string) *line {
	l := lines.Get().(*line)
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
func (l *line) body(key, size string, v Value) {
	l.key(key)
	l.bytes = 0
	l.value(v.wire)
	l.int(size, l.bytes)
}

func (l *line) fault(f wire.Fault) {
	l.str("code", f.Code)
	l.str("msg", f.Msg)
}
