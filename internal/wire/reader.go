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
// so every further Read returns it again.
func (r *Reader) Read() (Frame, error) {
	for r.err == nil {
		payload, err := r.payload()
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

// payload reads one frame's bytes into a buffer of their own.
func (r *Reader) payload() ([]byte, error) {
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
			return nil, err
		}
	}
	length := binary.BigEndian.Uint32(r.ahead[r.start:])
	r.start += headerLen
	if length > MaxFrame {
		return nil, errLength(uint64(length))
	}
	whole := int(length)
	payload := make([]byte, min(whole, firstChunk))
	have := copy(payload, r.ahead[r.start:r.end])
	r.start += have
	for have < whole {
		if have == len(payload) {
			grown := make([]byte, min(whole, growth*have))
			copy(grown, payload)
			payload = grown
		}
		n, err := r.fill(payload[have:])
		have += n
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return payload, nil
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
