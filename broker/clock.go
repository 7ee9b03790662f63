package broker

import (
	"context"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

func (i *Invocation) clockNow(_ context.Context, a *arguments) (wire.Value, *refusal) {
	if refused := a.refused(); refused != nil {
		return wire.Value{}, refused
	}
	return wire.Map(wire.Field{Key: "unix_ns", Value: wire.Int(time.Now().UnixNano())}), nil
}
