package wire

import (
	"encoding/binary"
	"io"
)

const (
	headerLen = 4

	// readAhead is how much a Reader asks of its stream when it knows nothing yet: a page, so that a small frame comes
	// with its header in one read, and so little that copying it out costs nothing beside the read.
	readAhead = 4 << 10

	// firstChunk is how much is allocated on a header's word alone. Common frames fit; a longer one gets its memory as its
	// bytes arrive, at most growth times what has come.
	firstChunk = 1 << 20
	growth     = 4

	// maxEmptyReads is after how many reads of nothing, without an error, a stream is taken for broken.
	maxEmptyReads = 100
)

// Reader reads frames from a stream, for one side. It is for one goroutine at a time.
type Reader struct {
	src   io.Reader
	side  Side
	d     *decoder
	ahead [readAhead]byte
	start int // ahead[start:end] has been read and not used
	end   int
	err   error

	payload []byte // of the frame that is arriving; nil between frames
	have    int    // how much of it has arrived
	whole   int    // the length of the last frame whose header has arrived
}

// NewReader returns a reader of the stream for the side. It reads ahead, so the stream is its own from now on.
func NewReader(r io.Reader, side Side) *Reader {
	return &Reader{src: r, side: side, d: newDecoder()}
}

// Read returns the next frame that is for the caller: heartbeats, and well-formed frames of kinds this version does not know,
// are passed over.
//
// The error is io.EOF where the stream ends between frames, io.ErrUnexpectedEOF where it ends inside one, a [*ProtocolError]
// for a frame that was refused, and otherwise the stream's own. After an error there is no telling where the next frame begins,
// so every further Read returns it again. A timeout of the stream alone is no end of it: what has arrived of a frame is kept,
// and the next Read goes on from there.
func (r *Reader) Read() (Frame, error) {
	for r.err == nil {
		payload, err := r.next()
		if timedOut(err) {
			return Frame{}, err
		}
		if err != nil {
			r.err = err
			break
		}
		f, err := r.d.frame(payload, r.side)
		if err != nil {
			r.err = err
			break
		}
		if r.side.reads(f.Kind) && f.Kind != KindHeartbeat {
			return f, nil
		}
	}
	return Frame{}, r.err
}

// Size is the length of the last frame's payload, in bytes.
func (r *Reader) Size() int { return r.whole }

// timedOut reports whether an error is the stream's own timeout, as those of package os and net are.
func timedOut(err error) bool {
	t, ok := err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// next reads one frame's bytes into a buffer of their own.
func (r *Reader) next() ([]byte, error) {
	if r.payload == nil {
		if err := r.header(); err != nil {
			return nil, err
		}
	}
	for r.have < r.whole {
		if r.have == len(r.payload) {
			grown := make([]byte, min(r.whole, growth*r.have))
			copy(grown, r.payload)
			r.payload = grown
		}
		n, err := r.fill(r.payload[r.have:])
		r.have += n
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	payload := r.payload
	r.payload = nil
	return payload, nil
}

// header reads a frame's length and makes room for as much of it as may be believed.
func (r *Reader) header() error {
	for r.end-r.start < headerLen {
		if r.start > 0 {
			r.end = copy(r.ahead[:], r.ahead[r.start:r.end])
			r.start = 0
		}
		n, err := r.fill(r.ahead[r.end:])
		r.end += n
		if err == io.EOF && r.end > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	length := binary.BigEndian.Uint32(r.ahead[r.start:])
	r.start += headerLen
	if length > MaxFrame {
		return errLength(uint64(length))
	}
	r.whole = int(length)
	r.payload = make([]byte, min(r.whole, firstChunk))
	r.have = copy(r.payload, r.ahead[r.start:r.end])
	r.start += r.have
	return nil
}

// fill reads something into the buffer, or fails. An error that comes with bytes waits for the next read, which repeats it.
func (r *Reader) fill(buf []byte) (int, error) {
	for range maxEmptyReads {
		n, err := r.src.Read(buf)
		if n < 0 || n > len(buf) {
			return 0, io.ErrNoProgress
		}
		if n > 0 {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}
