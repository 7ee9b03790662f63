// Package compact is the entry of the hook before_compact: what was blocked and taken out must
// not be lost with the messages that said so.
package compact

import (
	"context"

	"github.com/loomext/loomext/prelude/ext/hook"

	"example.com/gate/memory"
)

// OnBeforeCompact gives the note for the summary.
func OnBeforeCompact(context.Context, hook.Compaction) (string, error) { return memory.Note(), nil }
