// Package count is the tool count_todos.
package count

import (
	"strconv"
	"strings"

	"github.com/loomext/loomext/prelude/cap/proc"
	"github.com/loomext/loomext/prelude/ext"
)

type query struct {
	File string `json:"file"`
}

// Exit statuses of grep.
const (
	someLines = 0
	noLines   = 1
)

// Run has grep count. The file cannot be taken for an option, which grep -c would obey: it stands behind "--".
var Run = ext.Typed(func(ctx ext.Ctx, q query) (ext.Outcome, error) {
	r, err := proc.Run(ctx, proc.Command{Argv: []string{"grep", "-c", "-E", "--", `\b(TODO|FIXME)\b`, q.File}})
	if err != nil {
		return ext.Outcome{}, err
	}
	if r.Exit != someLines && r.Exit != noLines {
		return ext.Outcome{}, ext.Refuse("grep: %s", strings.TrimSpace(string(r.Stderr)))
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(r.Stdout)))
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.JSON(map[string]any{"file": q.File, "lines": n})
})
