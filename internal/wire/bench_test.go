package wire

import (
	"bytes"
	"io"
	"testing"
)

// again is a stream that gives one frame over and over, whole frames at a time.
type again struct {
	frame []byte
	rest  []byte
}

func (a *again) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		a.rest = a.frame
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

func toolCall(args []byte) HookCall {
	return HookCall{
		Token:      bytes.Repeat([]byte{7}, TokenLen),
		Kind:       CallTool,
		Name:       "convert",
		Args:       Map(Field{"args", Text(args)}, Field{"strand", String("main")}),
		DeadlineMS: 20000,
	}
}

func toolResult(text []byte) Result {
	return Result{OK: true, Value: Map(
		Field{"content", List(Map(Field{"type", String("text")}, Field{"text", Text(text)}))},
		Field{"terminate", Bool(false)},
	)}
}

// BenchmarkHostCall is what one call costs the host here: a hook_call written, its hook_result read.
func BenchmarkHostCall(b *testing.B) {
	for _, size := range []struct {
		name string
		n    int
	}{{"1KiB", 1 << 10}, {"64KiB", 64 << 10}} {
		b.Run(size.name, func(b *testing.B) {
			text := bytes.Repeat([]byte("x"), size.n)
			answer, err := AppendResult(nil, KindHookResult, 1, toolResult(text))
			if err != nil {
				b.Fatal(err)
			}
			r := NewReader(&again{frame: answer}, Host)
			call := toolCall(nil)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				call.Args = Map(Field{"args", Text(text)}, Field{"strand", String("main")})
				buf, err = AppendHookCall(buf[:0], 1, call)
				if err != nil {
					b.Fatal(err)
				}
				f, err := r.Read()
				if err != nil || !f.Result.OK {
					b.Fatal(f, err)
				}
			}
		})
	}
}

func BenchmarkAppendHookCall1KiB(b *testing.B) {
	c := toolCall(bytes.Repeat([]byte("x"), 1<<10))
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = AppendHookCall(buf[:0], 1, c)
	}
}

func BenchmarkDecodeHookCall1KiB(b *testing.B) {
	frame, _ := AppendHookCall(nil, 1, toolCall(bytes.Repeat([]byte("x"), 1<<10)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(frame[headerLen:], Satellite); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeHookResult1KiB(b *testing.B) {
	frame, _ := AppendResult(nil, KindHookResult, 1, toolResult(bytes.Repeat([]byte("x"), 1<<10)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(frame[headerLen:], Host); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadLarge reads a frame that no read-ahead holds.
func BenchmarkReadLarge(b *testing.B) {
	frame, err := AppendResult(nil, KindHookResult, 1, toolResult(bytes.Repeat([]byte("x"), 8<<20)))
	if err != nil {
		b.Fatal(err)
	}
	var r io.Reader = &again{frame: frame}
	reader := NewReader(r, Host)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := reader.Read(); err != nil {
			b.Fatal(err)
		}
	}
}
