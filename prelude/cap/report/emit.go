package report

import (
	"context"
	"strconv"

	"github.com/loomext/loomext/prelude/cap/internal/channel"
)

const (
	capEmit = "report.emit"

	// The name and the content type of a partial.
	partialName = "partial"
	partialType = "text/plain"
)

// Error is what a failed Emit returns. It wraps a *cap.Error, whose code cap.CodeOf
// tells.
type Error struct {
	// Name is what was to be emitted.
	Name string
	Err  error
}

// Error has the name and the cause.
func (e *Error) Error() string { return "report: emit " + strconv.Quote(e.Name) + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Emit hands the host a named piece of output and waits for the id it is kept under.
// The name "partial" with the content type "text/plain" is a partial, which is shown
// and not kept.
func Emit(ctx context.Context, name, contentType string, data []byte) (id string, err error) {
	v, err := channel.Call(ctx, capEmit, emission(name, contentType, Bytes(data)))
	if err != nil {
		return "", &Error{Name: name, Err: err}
	}
	id, err = StringAt(v, "id")
	if err != nil {
		return "", &Error{Name: name, Err: channel.Misshapen(capEmit, err)}
	}
	return id, nil
}

// Partial shows the host a line of progress and waits for no answer, as ext.Ctx's
// Report does. One that cannot be
// sent is lost, and nobody hears of it.
func Partial(ctx context.Context, text string) {
	channel.Post(ctx, capEmit, emission(partialName, partialType, Bytes([]byte(text))))
}

func emission(name, contentType string, data Value) Value {
	return Map(
		Field{Key: "name", Value: String(name)},
		Field{Key: "content_type", Value: String(contentType)},
		Field{Key: "bytes", Value: data},
	)
}
