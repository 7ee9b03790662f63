package gate

import (
	"context"

	"github.com/loomext/loomext/prelude/ext/hook"
)

func OnToolCall(_ context.Context, call hook.Call) (hook.Verdict, error) {
	if call.Tool == "forbidden" {
		return hook.Block("it is forbidden"), nil
	}
	return hook.Allow, nil
}
