// Package mood is a tool that behaves as it is told.
package mood

import (
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

type arguments struct {
	Mood string `json:"mood"`
}

// Run behaves.
var Run = ext.Typed(func(ctx ext.Ctx, a arguments) (ext.Outcome, error) {
	switch a.Mood {
	case "talk":
		ctx.Report("first")
		ctx.Report("second, in \x1b[31mred")
		return ext.Text("two lines\nof text\n"), nil
	case "keep":
		_, err := report.Emit(ctx, "table.csv", "text/csv", []byte("a,b\n"))
		return ext.Text("kept"), err
	case "stop":
		return ext.Outcome{Content: []ext.Content{ext.TextContent{Text: "bye"}}, Terminate: ext.TerminateRun}, nil
	case "wait":
		ctx.Report("waiting")
		<-ctx.Done()
		return ext.Outcome{}, ctx.Err()
	case "spin":
		for {
		}
	case "panic":
		panic("out of temper")
	}
	return ext.Outcome{}, ext.Refuse("no mood for %q; try talk", a.Mood)
})
