package satellite

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/loomext/loomext/internal/wire"
)

func TestBudgetCountsWhatNobodySees(t *testing.T) {
	beats := bytes.Repeat(wire.AppendHeartbeat(nil), 1000)
	for budget, want := range map[int]error{len(beats) - 1: errFlood, len(beats): io.EOF} {
		m := &metered{from: bytes.NewReader(beats)}
		m.budget.Store(int64(budget))
		if _, err := wire.NewReader(m, wire.Host).Read(); !errors.Is(err, want) {
			t.Errorf("with a budget of %d for %d bytes: %v", budget, len(beats), err)
		}
	}
}
