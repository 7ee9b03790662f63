// Package roots asks where the agent works.
package roots

import (
	"strings"

	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/ext"
)

// Run lists the roots of whoever called.
var Run = ext.Typed(func(ctx ext.Ctx, _ struct{}) (ext.Outcome, error) {
	roots, err := ask.Roots(ctx, "client_roots")
	if err != nil {
		return ext.Outcome{}, err
	}
	if len(roots) == 0 {
		return ext.Text("There are no roots."), nil
	}
	lines := make([]string, 0, len(roots))
	for _, r := range roots {
		lines = append(lines, r.Name+" "+r.URI)
	}
	return ext.Text(strings.Join(lines, "\n")), nil
})
