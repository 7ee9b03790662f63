package broker

import (
	"context"
	"crypto/rand"
	"strconv"

	"github.com/loomext/loomext/internal/wire"
)

// maxRandom is how many random bytes one call gives: a thousand keys. Who needs more stretches a key.
const maxRandom = 64 << 10

func (i *Invocation) randBytes(_ context.Context, a *arguments) (wire.Value, *refusal) {
	n := a.integer("n")
	switch refused := a.refused(); {
	case refused != nil:
		return wire.Value{}, refused
	case n < 0:
		return wire.Value{}, invalid("n is " + strconv.FormatInt(n, 10) + "; want 0 to " + strconv.Itoa(maxRandom))
	case n > maxRandom:
		return wire.Value{}, &refusal{wire.CodeTooLarge, "n is " + strconv.FormatInt(n, 10) + "; at most " + strconv.Itoa(maxRandom) + " bytes at once"}
	}
	b := make([]byte, n)
	_, _ = rand.Read(b) // ends the process rather than fail
	return wire.Map(wire.Field{Key: "bytes", Value: wire.Bin(b)}), nil
}
