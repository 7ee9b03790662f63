package look

import (
	"github.com/loomext/loomext/prelude/cap/clock"
	"github.com/loomext/loomext/prelude/cap/net"
	"github.com/loomext/loomext/prelude/ext"
)

type query struct {
	Word string `json:"word"`
}

var Run = ext.Typed(func(ctx ext.Ctx, q query) (ext.Outcome, error) {
	if _, err := clock.Now(ctx); err != nil {
		return ext.Outcome{}, err
	}
	response, err := net.Fetch(ctx, "https://api.example.com/"+q.Word)
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text(string(response.Body)), nil
})
