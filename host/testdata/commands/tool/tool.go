// Package tool runs a script for a test.
package tool

import (
	"github.com/loomext/loomext/prelude/cap/proc"
	"github.com/loomext/loomext/prelude/ext"
)

type request struct {
	Script string `json:"script"`
}

// Run is the tool.
var Run = ext.Typed(func(ctx ext.Ctx, r request) (ext.Outcome, error) {
	result, err := proc.Run(ctx, proc.Command{Argv: []string{"sh", "-c", r.Script}})
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text(string(result.Stdout) + string(result.Stderr)), nil
})
