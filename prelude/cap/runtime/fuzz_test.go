//go:build unix

package runtime_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap/kv"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/cap/runtime"
)

// script is a transport whose host says some bytes, in pieces, and leaves. What is
// written to it is read back as a host would, so that a frame no host would take is
// found.
type script struct {
	rest  []byte
	piece int

	mu      sync.Mutex
	written []byte
	closed  bool
}

func (s *script) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), s.piece)], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *script) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	s.written = append(s.written, b...)
	return len(b), nil
}

func (s *script) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// frames fails the test unless all that was written is whole frames for a host, and no
// outcome among them.
func (s *script) frames(t *testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rest := s.written; len(rest) > 0; {
		if len(rest) < 4 || len(rest)-4 < int(binary.BigEndian.Uint32(rest)) {
			t.Fatalf("a cut frame at the end of %q", s.written)
		}
		n := int(binary.BigEndian.Uint32(rest))
		f, err := wire.Decode(rest[4:4+n], wire.Host)
		if err != nil || f.Kind == wire.KindOutcome {
			t.Fatalf("wrote %+v, %v", f, err)
		}
		rest = rest[4+n:]
	}
}

// Whatever a host says, the loop ends: cleanly, with a protocol fault, or because the
// stream was cut inside a frame. It never panics, and writes only whole frames.
func FuzzLoop(f *testing.F) {
	hook := func(id int64, kind, name string, args wire.Value, ms int64) []byte {
		b, err := wire.AppendHookCall(nil, id, wire.HookCall{Token: []byte("t"), Kind: kind, Name: name, Args: args, DeadlineMS: ms})
		if err != nil {
			f.Fatal(err)
		}
		return b
	}
	answer, err := wire.AppendResult(nil, wire.KindCapResult, 1, wire.Result{OK: true, Value: wire.Map()})
	if err != nil {
		f.Fatal(err)
	}
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	f.Add([]byte{}, uint8(1))
	f.Add(join(hook(1, "tool", "echo", wire.Int(1), 10), hook(2, "tool", "kv", wire.Nil(), 10), answer), uint8(255))
	f.Add(join(hook(1, "tool", "panic", wire.Nil(), 10), hook(2, "dance", "", wire.Nil(), 0), wire.AppendCancel(nil, 1)), uint8(3))
	f.Add(join(hook(1, "tool", "wait", wire.Nil(), 1000), wire.AppendCancel(nil, 1), hook(2, "tool", "flood", wire.Nil(), -1)), uint8(7))
	f.Add(join(wire.AppendHeartbeat(nil), wire.AppendCancel(nil, 5), wire.AppendCancel(nil, 0), []byte{1}), uint8(1))
	f.Add([]byte{0, 0, 0, 5, 0xdd, 0xff, 0xff, 0xff, 0xff}, uint8(9))
	f.Fuzz(func(t *testing.T, said []byte, piece uint8) {
		s := &script{rest: said, piece: int(piece) + 1}
		ended := make(chan error, 1)
		go func() { ended <- runtime.Loop(context.Background(), s, fuzzAnswer) }()
		select {
		case err := <-ended:
			var refused *wire.ProtocolError
			if err != nil && !errors.As(err, &refused) && err.Error() != "the stream ended inside a frame" {
				t.Fatalf("ended with %v", err)
			}
		case <-time.After(patience):
			t.Fatal("the loop did not end")
		}
		s.frames(t)
	})
}

func fuzzAnswer(a runtime.Asked) runtime.Answer {
	switch a.Invocation.Name {
	case "panic":
		panic(a.Args)
	case "kv":
		if err := kv.Set(a.Context(), "k", nil); err != nil {
			return runtime.Failed("refused", err.Error())
		}
	case "wait":
		<-a.Context().Done()
	case "flood":
		for range 100 {
			report.Partial(a.Context(), "more")
		}
	}
	return runtime.Answered(a.Args)
}
