// Package cap holds what every capability of a satellite has in common: the
// error a refused or failed call comes back as.
//
// A capability is a package below this one: net, fs, kv, proc, clock, rand,
// ask, report. Its functions take a context first, send one call over the
// satellite's only channel and wait for the host to answer. Nothing in these
// packages decides whether a call is allowed. They put arguments in order and
// name what came back; the host judges every call, and only while an invocation
// is open.
//
// So pass on the context the invocation gave you. A call made with any other
// context belongs to no invocation and is refused.
//
// A failed call is an [*Error] inside the error type of its package. Ask for its
// code with [CodeOf] and compare with the constants here. Most codes say that the
// call will fail the same way again: return such an error, and whoever reads it,
// often a model, can act on its sentence. What may be worth another try is
// [CodeNetFailed].
package cap

// Error is the host's refusal of one capability call, or the reason why its
// answer never came. Each capability wraps it in an error type of its own, so
// use [CodeOf] or [errors.As] to reach it.
type Error struct {
	// Code is the stable, machine-readable half: one of the constants of this
	// package, such as [CodeDenied].
	Code string
	// Msg is the sentence that goes with it.
	Msg string
}

// Error has both halves, the code first.
func (e *Error) Error() string {
	if e == nil {
		return "cap: no error"
	}
	return e.Code + ": " + e.Msg
}
