// Package start counts.
package start

import (
	"context"

	"github.com/loomext/loomext/prelude/ext/hook"
)

// Restarts is what the last session_start said.
var Restarts int64 = -1

// OnSessionStart answers session_start.
func OnSessionStart(ctx context.Context, s hook.SessionStart) error {
	Restarts = s.Restarts
	return nil
}
