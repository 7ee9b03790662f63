package faults

import (
	"bytes"

	"github.com/loomext/loomext/prelude/cap/clock"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

type query struct {
	How string `json:"how"`
}

var Run = ext.Typed(func(ctx ext.Ctx, q query) (ext.Outcome, error) {
	switch q.How {
	case "refuse":
		return ext.Outcome{}, ext.Refuse("not %s;\nmanifest: ask again\x1b[31m", q.How)
	case "panic":
		panic("the tool fell over")
	case "die":
		go func() { panic("a goroutine fell over") }()
		<-ctx.Done()
	case "spin":
		ctx.Report("spinning")
		for {
		}
	case "memory":
		for kept := [][]byte{}; ; {
			kept = append(kept, bytes.Repeat([]byte("x"), 1<<20))
		}
	case "flood":
		for {
			ctx.Report("the same again and again, so that no pipe holds it all")
		}
	case "effect":
		at, err := clock.Now(ctx)
		return ext.Text("it is " + at.Format("2006-01-02")), err
	case "emit":
		id, err := report.Emit(ctx, "table.csv", "text/csv", []byte("a,b\n1,2\n"))
		return ext.Text("artifact " + id), err
	case "json":
		return ext.Outcome{Content: []ext.Content{ext.JSONContent{Value: []byte("{")}}}, nil
	}
	return ext.Text("no fault"), nil
})
