package satellite

import (
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"sync/atomic"

	"github.com/loomext/loomext/internal/wire"
)

const (
	// callBytes is what a satellite may write during one invocation: sixteen
	// frames of the largest size.
	callBytes = 16 * wire.MaxFrame
	// idleBytes is what it may write while nothing is asked of it: one frame of
	// the largest size that came late, and a few months of heartbeats.
	idleBytes = wire.MaxFrame + 1<<20

	headerLen = 4
	// aheadLen is what one read takes when nothing is known yet: a common frame
	// with its header.
	aheadLen = 4 << 10
	// firstChunk is what is allocated on the word of a header; a longer frame
	// gets its memory as its bytes arrive, growth times what has come.
	firstChunk = 1 << 20
	growth     = 4
)

var errFlood = errors.New("flood")

// frames reads the satellite's frames. Unlike a wire.Reader it may be
// interrupted by a read deadline anywhere, and goes on from there: what has
// arrived of a frame is kept. One goroutine uses it at a time.
//
// It cuts a satellite off that writes more than its budget, which counts what
// no frame accounts for.
type frames struct {
	from   io.Reader
	budget atomic.Int64 // bytes the satellite may still write

	ahead      [aheadLen]byte
	start, end int    // ahead[start:end] is read and not used
	payload    []byte // of the frame that is arriving; nil between frames
	have       int    // of payload
	whole      int    // the frame's length
	size       int64  // of the last frame
}

// next is the next frame of any kind. A *wire.ProtocolError is the satellite's
// fault; after os.ErrDeadlineExceeded the reading can go on; anything else is
// the end of the stream.
func (f *frames) next() (wire.Frame, error) {
	if f.payload == nil {
		if err := f.header(); err != nil {
			return wire.Frame{}, err
		}
	}
	for f.have < f.whole {
		if f.have == len(f.payload) {
			grown := make([]byte, min(f.whole, growth*f.have))
			copy(grown, f.payload)
			f.payload = grown
		}
		n, err := f.read(f.payload[f.have:])
		if err != nil {
			return wire.Frame{}, err
		}
		f.have += n
	}
	payload := f.payload
	f.payload, f.size = nil, int64(f.whole)
	return wire.Decode(payload, wire.Host)
}

// header reads a frame's length and makes room for what may be believed of it.
func (f *frames) header() error {
	for f.end-f.start < headerLen {
		if f.start > 0 {
			f.end = copy(f.ahead[:], f.ahead[f.start:f.end])
			f.start = 0
		}
		n, err := f.read(f.ahead[f.end:])
		if err != nil {
			return err
		}
		f.end += n
	}
	length := binary.BigEndian.Uint32(f.ahead[f.start:])
	if length > wire.MaxFrame {
		return &wire.ProtocolError{Rule: wire.RuleLength, Reason: "a frame of " + strconv.FormatUint(uint64(length), 10) + " bytes; at most " + strconv.Itoa(wire.MaxFrame) + " are allowed"}
	}
	f.start += headerLen
	f.whole = int(length)
	f.payload = make([]byte, min(f.whole, firstChunk))
	f.have = copy(f.payload, f.ahead[f.start:f.end])
	f.start += f.have
	return nil
}

func (f *frames) read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	if n <= 0 && err == nil {
		err = io.ErrNoProgress
	}
	if n > 0 && f.budget.Add(-int64(n)) < 0 {
		return 0, errFlood
	}
	if n > 0 {
		return n, nil
	}
	return 0, err
}
