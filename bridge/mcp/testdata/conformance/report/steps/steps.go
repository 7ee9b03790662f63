// Package steps says how far it is.
package steps

import (
	"fmt"
	"time"

	"github.com/loomext/loomext/prelude/ext"
)

// The steps, and how long each takes: long enough that they arrive one by one.
const (
	steps = 3
	pause = 20 * time.Millisecond
)

// Run reports each step. A client sees them as progress or in its log, as it asked for.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	for n := range steps {
		ctx.Report(fmt.Sprintf("step %d of %d", n+1, steps))
		select {
		case <-ctx.Done():
			return ext.Outcome{}, ctx.Err()
		case <-time.After(pause):
		}
	}
	return ext.Text(fmt.Sprintf("%d steps done", steps)), nil
})
