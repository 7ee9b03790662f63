package satellite

import (
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"testing"

	"github.com/loomext/loomext/internal/wire"
	"pgregory.net/rapid"
)

// cut is a stream that arrives in pieces, with interruptions between.
type cut struct {
	rest   []byte
	pieces []int // 0 is an interruption
}

func (c *cut) Read(p []byte) (int, error) {
	n := len(p)
	if len(c.pieces) > 0 {
		n, c.pieces = c.pieces[0], c.pieces[1:]
	}
	switch {
	case n == 0:
		return 0, os.ErrDeadlineExceeded
	case len(c.rest) == 0:
		return 0, io.EOF
	}
	n = copy(p, c.rest[:min(n, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}

// all reads to the end, going on after interruptions.
func all(f *frames) (got []wire.Frame, err error) {
	for {
		frame, err := f.next()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
		case err != nil:
			return got, err
		case frame.Kind == wire.KindHookResult || frame.Kind == wire.KindCapCall || frame.Kind == wire.KindCancel:
			got = append(got, frame)
		}
	}
}

// sample is a stream whose last frame holds size bytes.
func sample(size int) []byte {
	b, _ := wire.AppendResult(nil, wire.KindHookResult, 1, wire.Result{OK: true, Value: wire.String("yes")})
	b = wire.AppendHeartbeat(b)
	b, _ = wire.AppendCapCall(b, 2, wire.CapCall{Token: make([]byte, wire.TokenLen), Cap: "x.y", Args: wire.Map(), DeadlineMS: 5})
	b = wire.AppendCancel(b, 2)
	b, _ = wire.AppendResult(b, wire.KindHookResult, 3, wire.Result{OK: true, Value: wire.Bin(make([]byte, size))})
	return b
}

func TestWhereTheStreamIsCutChangesNothing(t *testing.T) {
	want, _ := all(budgeted(&cut{rest: sample(3 * aheadLen)}))
	if len(want) != 4 {
		t.Fatalf("%d frames", len(want))
	}
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.IntRange(0, 5000), 0, 200).Draw(t, "pieces")
		got, err := all(budgeted(&cut{rest: sample(3 * aheadLen), pieces: pieces}))
		if err != io.EOF || !reflect.DeepEqual(got, want) {
			t.Fatalf("%d frames, %v", len(got), err)
		}
	})
}

func TestBudgetCountsWhatNobodySees(t *testing.T) {
	f := &frames{from: &cut{rest: bytes.Repeat(wire.AppendHeartbeat(nil), 1000)}}
	f.budget.Store(10_000)
	if _, err := all(f); !errors.Is(err, errFlood) {
		t.Error(err)
	}
}

func budgeted(r io.Reader) *frames {
	f := &frames{from: r}
	f.budget.Store(callBytes)
	return f
}

// The satellite's bytes are read here as a wire.Reader reads them.
func FuzzFrames(f *testing.F) {
	f.Add(sample(8), uint16(3))
	f.Add([]byte{0, 0, 0, 5, 0xdd, 0xff, 0xff, 0xff, 0xff}, uint16(1))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, uint16(2))
	f.Add([]byte{0, 0, 0, 0}, uint16(9))
	f.Fuzz(func(t *testing.T, stream []byte, piece uint16) {
		var pieces []int
		for range 2 * len(stream) / (int(piece) + 1) {
			pieces = append(pieces, int(piece)+1, 0)
		}
		got, err := all(budgeted(&cut{rest: stream, pieces: pieces}))
		reader := wire.NewReader(bytes.NewReader(stream), wire.Host)
		for i := 0; ; i++ {
			want, wantErr := reader.Read()
			if wantErr != nil {
				var a, b *wire.ProtocolError
				if i != len(got) || errors.As(err, &a) != errors.As(wantErr, &b) {
					t.Fatalf("%d frames and %v, want %d and %v", len(got), err, i, wantErr)
				}
				return
			}
			if i >= len(got) || !reflect.DeepEqual(got[i], want) {
				t.Fatalf("frame %d differs", i)
			}
		}
	})
}
