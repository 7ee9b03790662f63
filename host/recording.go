package host

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/loomext/loomext/broker"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/record"
	"github.com/loomext/loomext/satellite"
)

// note begins an invocation in the session's record, where there is one. Its error says
// that the invocation must not be made.
func (x *extension) note(call satellite.Invocation, left time.Duration) (*record.Call, *Error) {
	if x.session.record == nil {
		return nil, nil
	}
	x.mu.Lock()
	start := x.starts
	x.mu.Unlock()
	r := x.record
	c, err := x.session.record.Begin(record.Extension{
		Name: x.name, Version: r.Version, Revision: r.Revision, Fingerprint: r.Fingerprint,
		ArtifactDigest: r.ArtifactDigest, Granted: r.Granted,
	}, record.Invocation{Extension: x.name, Kind: call.Kind, Name: call.Name, Start: int64(start), Args: record.Of(call.Args), Deadline: max(left, 0)})
	if err != nil {
		return nil, x.unrecorded(call.Name, "not called", err)
	}
	return c, nil
}

// recorded serves effects and notes them in the record, where there is one. Once the record
// cannot be written, none is performed any more; what led up to one that reaches out of this
// process is written before it.
func recorded(c *record.Call, serve satellite.Effects) satellite.Effects {
	if c == nil {
		return serve
	}
	return func(ctx context.Context, e satellite.CapCall) wire.Result {
		writable := c.Err
		if !broker.Prompt(e.Cap) {
			writable = c.Reach
		}
		if writable() != nil {
			return satellite.Failed(wire.CodeUnavailable, "the record of this session cannot be written, and what is not recorded is not done")
		}
		pending := c.Effect(e.Cap, record.Of(e.Args))
		result := serve(ctx, e)
		pending.End(result)
		return result
	}
}

// end notes how an invocation ended. A caller is not told of an answer that could not be
// noted.
func (x *extension) end(c *record.Call, target string, v wire.Value, fault *Error) *Error {
	if c == nil {
		return fault
	}
	answer := record.Answer{OK: fault == nil, Value: record.Of(v)}
	if fault != nil {
		answer.Failed, answer.Fault = string(fault.Kind), wire.Fault{Code: fault.Code, Msg: fault.Msg}
	}
	if err := c.End(answer); err != nil && fault == nil {
		return x.unrecorded(target, "it answered, and its answer is withheld", err)
	}
	return fault
}

// unrecorded is the error of an invocation that the session's record does not have.
func (x *extension) unrecorded(target, what string, err error) *Error {
	return &Error{
		Kind: Unrecorded, Extension: x.name, Target: target, Code: wire.CodeUnavailable,
		Msg: what + ": " + err.Error() + "; make room for the record, or name another and open a session anew", Err: err,
	}
}

// Version is that of the loomext in this program, or "(devel)" where the linker stamped none.
func Version() string {
	const module = "github.com/loomext/loomext"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" {
			return m.Version
		}
	}
	return "(devel)"
}
