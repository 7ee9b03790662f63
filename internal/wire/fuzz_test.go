package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"unicode/utf8"
)

// maxSeed keeps the seeds small enough for the fuzzer to do many a second.
const maxSeed = 1 << 12

// FuzzDecode holds decoding to its promises for any bytes, on both sides: a frame or a refusal that a person can read, no more
// memory than the bytes can stand for, and a frame that means the same after it was written and read again.
func FuzzDecode(f *testing.F) {
	for _, file := range payloadFiles {
		for _, v := range vectors(f, file) {
			if len(v.Parts) > 0 {
				continue
			}
			if payload := v.bytes(f); len(payload) <= maxSeed {
				f.Add(payload)
			}
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, side := range []Side{Host, Satellite} {
			kept := bytes.Clone(payload)
			frame, err := Decode(payload, side)
			if !bytes.Equal(kept, payload) {
				t.Fatal("decoding changed the payload")
			}
			if err != nil {
				refusal, ok := errors.AsType[*ProtocolError](err)
				if !ok || refusal.Rule == "" || refusal.Reason == "" || !utf8.ValidString(refusal.Reason) {
					t.Fatalf("refused with %#v", err)
				}
				continue
			}
			checkRoundTrip(t, frame, side)
		}
	})
}

// checkRoundTrip writes a frame, reads it, and writes it again.
func checkRoundTrip(t *testing.T, frame Frame, side Side) {
	t.Helper()
	if _, ok := known([]byte(frame.Kind)); !ok {
		return
	}
	wrote, err := encode(nil, frame)
	if err != nil {
		t.Fatalf("%+v decoded and cannot be written: %v", frame, err)
	}
	again, err := Decode(wrote[headerLen:], side)
	if err != nil {
		t.Fatalf("%+v was written and is refused: %v", frame, err)
	}
	if diff := differ(frame, again); diff != "" {
		t.Fatalf("%s differs after a round trip:\n was %+v\n is  %+v", diff, frame, again)
	}
	twice, err := encode(nil, again)
	if err != nil || !bytes.Equal(wrote, twice) {
		t.Fatalf("written twice:\n%x\n%x\n%v", wrote, twice, err)
	}
}

// FuzzReader holds that where a stream is cut changes neither its frames nor its end.
func FuzzReader(f *testing.F) {
	for _, v := range vectors(f, streamFile) {
		if stream := v.bytes(f); len(stream) <= maxSeed {
			f.Add(stream, []byte{1, 2, 3, 5, 8, 0, 200})
			f.Add(stream, []byte{4})
		}
	}
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		for _, side := range []Side{Host, Satellite} {
			whole, end := frames(bytes.NewReader(stream), side)
			pieces, pieceEnd := frames(&pieces{stream, cuts, 0}, side)
			if len(whole) != len(pieces) {
				t.Fatalf("%d frames whole, then %v; %d in pieces, then %v", len(whole), end, len(pieces), pieceEnd)
			}
			for i := range whole {
				if diff := differ(whole[i], pieces[i]); diff != "" {
					t.Fatalf("frame %d: %s differs", i, diff)
				}
			}
			if end.Error() != pieceEnd.Error() {
				t.Fatalf("ends with %v whole, with %v in pieces", end, pieceEnd)
			}
			checkAgainstDecode(t, stream, whole, side)
		}
	})
}

// checkAgainstDecode takes the stream apart by its headers alone, which must give the same frames.
func checkAgainstDecode(t *testing.T, stream []byte, want []Frame, side Side) {
	t.Helper()
	for len(stream) >= headerLen {
		n := binary.BigEndian.Uint32(stream)
		stream = stream[headerLen:]
		if uint64(n) > uint64(len(stream)) {
			break
		}
		frame, err := Decode(stream[:n], side)
		if err != nil {
			break
		}
		stream = stream[n:]
		if _, ok := known([]byte(frame.Kind)); !ok || frame.Kind == KindHeartbeat {
			continue
		}
		if len(want) == 0 {
			t.Fatalf("the reader lost %+v", frame)
		}
		if diff := differ(frame, want[0]); diff != "" {
			t.Fatalf("%s differs", diff)
		}
		want = want[1:]
	}
	if len(want) > 0 {
		t.Fatalf("the reader made up %+v", want[0])
	}
}

// pieces is a stream that comes in pieces of the lengths that the cuts name, over and over; a length of 0 is a read of nothing.
type pieces struct {
	rest []byte
	cuts []byte
	next int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := 1
	if len(p.cuts) > 0 {
		n = int(p.cuts[p.next%len(p.cuts)])
		if p.next++; n == 0 && p.next%2 == 0 {
			n = 1 // nothing over and over is a broken stream, which is another test
		}
	}
	n = copy(b, p.rest[:min(n, len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}
