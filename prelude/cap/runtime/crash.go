package runtime

import (
	"fmt"
	"path"
	"runtime"
	"strings"
	"unicode/utf8"
)

// Bounds of a crashed answer: enough to find the line, small enough for a log.
const (
	crashText   = 1 << 10 // bytes of the panic value
	crashFrames = 8       // callers, innermost first
	crashDepth  = 64      // callers looked through to find them
	crashFrame  = 200     // bytes of one
)

// ours are the packages between the channel and the author's function. Their part of a
// stack is the same in every crash.
var ours = [...]string{
	"github.com/loomext/loomext/prelude/cap/runtime.",
	"github.com/loomext/loomext/prelude/ext/runtime.",
	"github.com/loomext/loomext/prelude/ext/hook.",
	"github.com/loomext/loomext/prelude/ext.",
}

// crash says what ended an answer. It is called while the panic, or the Goexit, is
// still on the stack.
func crash(panicked any) string {
	what := "the answer ended its goroutine (runtime.Goexit)"
	if panicked != nil {
		what = "panic: " + clip(panicText(panicked), crashText)
	}
	return what + stack()
}

// panicText is the value in words, as the Go runtime would print it. Only an error's
// and a stringer's own methods are called, and no other value is walked: one that
// contains itself would have no end.
func panicText(v any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("a %T whose text panics too", v)
		}
	}()
	switch v := v.(type) {
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	case string:
		return v
	case bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, uintptr,
		float32, float64, complex64, complex128:
		return fmt.Sprint(v)
	}
	return fmt.Sprintf("a %T", v)
}

// stack is the author's part of the stack, one caller a line.
func stack() string {
	var pcs [crashDepth]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	var b strings.Builder
	for left := crashFrames; left > 0; {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") && !isOurs(f.Function) {
			dir, file := path.Split(f.File)
			line := fmt.Sprintf("%s (%s:%d)", f.Function, path.Join(path.Base(dir), file), f.Line)
			b.WriteString("\n  at " + clip(line, crashFrame))
			left--
		}
		if !more {
			break
		}
	}
	return b.String()
}

// isOurs reports whether a function belongs to the prelude itself.
func isOurs(function string) bool {
	for _, p := range ours {
		if strings.HasPrefix(function, p) {
			return true
		}
	}
	return false
}

// clip cuts text to a number of bytes, between two characters.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
