package satellite

import (
	"errors"
	"io"
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
)

var errFlood = errors.New("flood")

// metered is what a satellite writes. It ends for one that writes more than its
// budget, which counts what no frame accounts for.
type metered struct {
	from   io.Reader
	budget atomic.Int64 // bytes the satellite may still write
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	if n > 0 && m.budget.Add(-int64(n)) < 0 {
		return 0, errFlood
	}
	return n, err
}
