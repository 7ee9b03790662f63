package say

import (
	"strings"

	"github.com/loomext/loomext/prelude/ext"
)

type query struct {
	Name string `json:"name"`
	As   string `json:"as"`
}

type settings struct {
	Greeting string `json:"greeting"`
	Times    int    `json:"times"`
}

var Run = ext.Typed(func(ctx ext.Ctx, q query) (ext.Outcome, error) {
	s, err := ext.Config[settings]()
	if err != nil {
		return ext.Outcome{}, err
	}
	text := strings.TrimSpace(strings.Repeat(s.Greeting+" ", s.Times)) + ", " + q.Name
	switch q.As {
	case "json":
		return ext.JSON(map[string]any{"greeting": text, "to": []string{q.Name}})
	case "both":
		ctx.Report("thinking of " + q.Name)
		out, err := ext.JSON(map[string]any{"greeting": text})
		out.Content = append([]ext.Content{ext.TextContent{Text: text}}, out.Content...)
		out.Terminate = ext.TerminateRun
		return out, err
	case "strand":
		return ext.Text("strand " + ctx.Strand), nil
	case "control":
		ctx.Report("\x1b[2Jwiped")
		return ext.Text("\x1b[31mred\x1b[0m\rover \u202egnp.exe"), nil
	}
	return ext.Text(text), nil
})
