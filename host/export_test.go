package host

import "time"

// SetClock has strikes be forgiven by another clock. It is for before the first session.
func (h *Host) SetClock(now func() time.Time) { h.now = now }
