// Package tool holds the extension up, and tells what its hooks have seen.
package tool

import (
	"extension.invalid/probe/self"
	"github.com/loomext/loomext/prelude/ext"
)

type request struct {
	Op   string `json:"op"`
	Text string `json:"text"`
}

// Run is the tool.
var Run = ext.Typed(func(ctx ext.Ctx, r request) (ext.Outcome, error) {
	switch r.Op {
	case "seen":
		return ext.Text(self.Seen()), nil
	case "hold":
		ctx.Report("holding")
	}
	return ext.Text(""), self.Act(ctx, r.Op, r.Text)
})
