package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"testing"
	"testing/iotest"
)

func mustAppend(t testing.TB) func([]byte, error) []byte {
	return func(b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

// counted counts the reads of a stream.
type counted struct {
	io.Reader
	reads int
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	return c.Reader.Read(p)
}

func TestReaderTakesASmallFrameInOneRead(t *testing.T) {
	frame := mustAppend(t)(AppendHookCall(nil, 1, toolCall([]byte(`{}`))))
	stream := &counted{Reader: bytes.NewReader(frame)}
	if _, err := NewReader(stream, Satellite).Read(); err != nil {
		t.Fatal(err)
	}
	if stream.reads != 1 {
		t.Errorf("%d reads; want 1", stream.reads)
	}
}

func TestReaderTakesALongFrameInTwoReads(t *testing.T) {
	frame := mustAppend(t)(AppendHookCall(nil, 1, toolCall(make([]byte, 100<<10))))
	stream := &counted{Reader: bytes.NewReader(frame)}
	if _, err := NewReader(stream, Satellite).Read(); err != nil {
		t.Fatal(err)
	}
	if stream.reads != 2 {
		t.Errorf("%d reads; want 2", stream.reads)
	}
}

func TestReaderAllocatesAsBytesArriveNotAsTheyArePromised(t *testing.T) {
	head := binary.BigEndian.AppendUint32(nil, MaxFrame)
	for _, arrived := range []int{0, 1, readAhead, firstChunk - 1, firstChunk + 1, 5 << 20} {
		stream := append(bytes.Clone(head), make([]byte, arrived)...)
		before := allocated()
		_, err := NewReader(bytes.NewReader(stream), Host).Read()
		spent := allocated() - before
		if err != io.ErrUnexpectedEOF {
			t.Fatal(err)
		}
		// Every buffer is at most growth times the one before, so all together are less than twice the last.
		if most := uint64(firstChunk + 2*growth*arrived + 64<<10); spent > most {
			t.Errorf("%d bytes of a promised %d arrived, and %d were allocated; want at most %d", arrived, MaxFrame, spent, most)
		}
	}
}

func TestReaderReadsALongFrameAcrossItsBuffers(t *testing.T) {
	for _, n := range []int{firstChunk - 100, firstChunk, firstChunk + 1, growth * firstChunk, growth*firstChunk + 1, 15 << 20} {
		body := make([]byte, n)
		for i := range body {
			body[i] = byte(i >> 8)
		}
		stream := mustAppend(t)(AppendResult(nil, KindHookResult, 1, Result{OK: true, Value: Bin(body)}))
		stream = mustAppend(t)(AppendResult(stream, KindHookResult, 2, Result{OK: true}))
		got, err := frames(iotest.HalfReader(bytes.NewReader(stream)), Host)
		if err != io.EOF || len(got) != 2 {
			t.Fatalf("%d frames, then %v", len(got), err)
		}
		if b, _ := got[0].Result.Value.AsBin(); !bytes.Equal(b, body) {
			t.Errorf("the %d bytes came out changed", n)
		}
	}
}

func TestFramesDoNotShareMemory(t *testing.T) {
	var stream []byte
	for id := range int64(50) {
		stream = mustAppend(t)(AppendResult(stream, KindHookResult, id, Result{OK: true, Value: Bin([]byte{byte(id)})}))
	}
	all, err := frames(bytes.NewReader(stream), Host)
	if err != io.EOF || len(all) != 50 {
		t.Fatal(len(all), err)
	}
	for i := range all {
		b, _ := all[i].Result.Value.AsBin()
		b[0] = ^b[0]
		_ = append(b, 0xff, 0xff, 0xff) // must not reach what follows it in the frame
	}
	for i := range all {
		if b, _ := all[i].Result.Value.AsBin(); b[0] != ^byte(i) {
			t.Fatalf("frame %d holds %x after the others were changed", i, b)
		}
	}
}

func TestAppendingToAPartOfAFrameLeavesTheRestAlone(t *testing.T) {
	frame := mustAppend(t)(AppendResult(nil, KindHookResult, 1, Result{OK: true, Value: List(Bin([]byte("ab")), Bin([]byte("cd")), String("ef"))}))
	f, err := Decode(frame[headerLen:], Host)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := f.Result.Value.AsList()
	first, _ := list[0].AsBin()
	_ = append(first, "XXXXXXXX"...)
	second, _ := list[1].AsBin()
	third, _ := list[2].AsString()
	if string(second) != "cd" || third != "ef" {
		t.Errorf("after appending to the first: %q, %q", second, third)
	}
}

func TestReaderGivesBackTheStreamsErrorEachTime(t *testing.T) {
	frame := mustAppend(t)(AppendResult(nil, KindHookResult, 1, Result{OK: true}))
	for _, n := range []int{0, 2, headerLen, headerLen + 3} {
		stream := io.MultiReader(bytes.NewReader(frame), bytes.NewReader(frame[:n]), iotest.ErrReader(os.ErrDeadlineExceeded))
		r := NewReader(stream, Host)
		if _, err := r.Read(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := r.Read(); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("cut at %d: %v; want the stream's error", n, err)
			}
		}
	}
}

func TestReaderRepeatsARefusal(t *testing.T) {
	good := mustAppend(t)(AppendResult(nil, KindHookResult, 1, Result{OK: true}))
	r := NewReader(bytes.NewReader(append([]byte{0, 0, 0, 1, 0xc0}, good...)), Host)
	for range 3 {
		_, err := r.Read()
		checkRefusal(t, err, RuleEnvelope, "")
	}
}

// broken is a stream that breaks the contract of io.Reader.
type broken int

func (n broken) Read(p []byte) (int, error) {
	if n > 0 {
		return len(p) + int(n), nil
	}
	return int(n), nil
}

func TestReaderSurvivesABrokenStream(t *testing.T) {
	for _, n := range []broken{0, -1, 1} {
		if _, err := NewReader(n, Host).Read(); err != io.ErrNoProgress {
			t.Errorf("a stream that reads %d: %v; want io.ErrNoProgress", n, err)
		}
	}
}

// interrupted is a stream of which every other read times out.
type interrupted struct {
	io.Reader
	late bool
}

func (i *interrupted) Read(p []byte) (int, error) {
	if i.late = !i.late; i.late {
		return 0, os.ErrDeadlineExceeded
	}
	return i.Reader.Read(p)
}

func TestReaderGoesOnAfterATimeout(t *testing.T) {
	stream := mustAppend(t)(AppendResult(nil, KindHookResult, 1, Result{OK: true, Value: Bin(make([]byte, 3*readAhead))}))
	first := len(stream) - headerLen
	stream = mustAppend(t)(AppendResult(stream, KindHookResult, 2, Result{OK: true, Value: Int(2)}))
	r := NewReader(&interrupted{Reader: iotest.OneByteReader(bytes.NewReader(stream))}, Host)
	timeouts := 0
	read := func() (Frame, error) {
		for {
			f, err := r.Read()
			if err != os.ErrDeadlineExceeded {
				return f, err
			}
			timeouts++
		}
	}
	for id := int64(1); id <= 2; id++ {
		f, err := read()
		if err != nil || f.ID != id {
			t.Fatalf("frame %d: %+v, %v", id, f, err)
		}
		if id == 1 && r.Size() != first {
			t.Errorf("a frame of %d bytes is said to have %d", first, r.Size())
		}
	}
	if _, err := read(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if timeouts < len(stream) {
		t.Errorf("%d timeouts in a stream of %d bytes; want one at each", timeouts, len(stream))
	}
}
