// Package wire is the capability channel's protocol, version 1: the frames a host and a satellite exchange over their one
// socket, and the MessagePack values inside them.
//
// It is shared by both ends, so that a frame means the same to whoever writes and whoever reads it. It opens no connection,
// starts no goroutine, keeps no state between frames, and knows nothing of invocations: which call is open, which token is
// good and which id answers what is for its callers to judge.
//
// A frame is a big-endian 32-bit length and that many bytes of payload; the payload is the map {v, id, kind, body}. What the
// body holds depends on the kind: see [HookCall], [Result] and [CapCall]. A [Reader] turns a stream into frames, [Decode]
// turns one payload into a [Frame], and the Append functions write frames.
//
// Invariants:
//
//   - Decoding is total. Whatever bytes arrive, the answer is a frame or a [*ProtocolError]; nothing panics, recurses
//     further than [MaxDepth], or allocates on the strength of a length that the bytes at hand do not bear out.
//   - A type is never taken for another: text is not bytes, nil is not zero, a float is not an integer.
//   - What the Append functions write, the peer's decoder accepts. A value it would refuse is an error here.
//   - Where the transport cuts the stream never changes which frames come out.
package wire

import (
	"math"
	"time"
)

// Version is the protocol's version, the "v" of every payload.
const Version = 1

// Bounds of a frame. The first two are the protocol's; the third is this implementation's own, on both of its ends.
const (
	// MaxFrame is the length of the longest payload, in bytes. A longer one closes the channel.
	MaxFrame = 16 << 20

	// MaxDepth is how deep lists and maps may nest, the payload map counted as 1.
	MaxDepth = 32

	// MaxValues bounds the elements of all lists and the entries of all maps of one frame, taken together. A value takes
	// one byte on the wire and about a hundred in memory, so without a bound of its own a frame of sixteen million nils
	// would cost its reader more than a gigabyte. With it the most is some 70 MiB while it is decoded and 45 MiB, beside
	// the frame itself, from then on, and a frame still carries the listing of a directory of eighty thousand files.
	MaxValues = 1 << 18
)

// TokenLen is the length of an invocation's token in bytes. A token of another length is well formed, and no good: the empty
// one is what a call outside any invocation carries.
const TokenLen = 32

// Kind is what a frame is about.
type Kind string

// The kinds of version 1.
const (
	KindHookCall   Kind = "hook_call"   // host to satellite: answer this
	KindHookResult Kind = "hook_result" // satellite to host: the answer to the hook_call of the same id
	KindCapCall    Kind = "cap_call"    // satellite to host: perform this effect
	KindCapResult  Kind = "cap_result"  // host to satellite: the answer to the cap_call of the same id
	KindCancel     Kind = "cancel"      // both ways: the call of this id is no longer wanted; to a satellite, 0 means serve no more
	KindHeartbeat  Kind = "heartbeat"   // both ways: ignored
	KindOutcome    Kind = "outcome"     // neither way: reserved for programs that answer once and end
)

// The kinds of a hook_call's body. A reader takes any other word as well: it is the satellite's runtime that answers
// [CodeBadKind].
const (
	CallTool    = "tool"
	CallEvent   = "event"
	CallCommand = "command"
)

// Side is the end of the channel that reads. It decides which kinds may arrive, and whether a body may hold keys that the
// protocol does not name: a host refuses them, a satellite ignores them, so that an old satellite can serve a newer host.
type Side uint8

// The two ends.
const (
	Host Side = iota + 1
	Satellite
)

// reads reports whether a frame of this kind may arrive at the side.
func (s Side) reads(k Kind) bool {
	switch k {
	case KindCancel, KindHeartbeat:
		return s == Host || s == Satellite
	case KindHookResult, KindCapCall:
		return s == Host
	case KindHookCall, KindCapResult:
		return s == Satellite
	}
	return false
}

// known returns the kind that a text names, without allocating, and whether the protocol knows it.
func known(text []byte) (Kind, bool) {
	switch string(text) {
	case string(KindHookCall):
		return KindHookCall, true
	case string(KindHookResult):
		return KindHookResult, true
	case string(KindCapCall):
		return KindCapCall, true
	case string(KindCapResult):
		return KindCapResult, true
	case string(KindCancel):
		return KindCancel, true
	case string(KindHeartbeat):
		return KindHeartbeat, true
	case string(KindOutcome):
		return KindOutcome, true
	}
	return "", false
}

// Frame is one decoded frame. Only the field that belongs to its Kind is meaningful: Call for a hook_call, Cap for a cap_call,
// Result for a hook_result or a cap_result, and none for a cancel, a heartbeat or a kind this version does not know.
//
// Tokens and values alias the frame's own bytes, which no later frame reuses. They stay good for as long as they are held,
// and holding one holds the whole frame.
type Frame struct {
	ID     int64
	Kind   Kind
	Call   HookCall
	Result Result
	Cap    CapCall
}

// HookCall is the body of a hook_call: the host asks the satellite to answer.
type HookCall struct {
	Token      []byte // what the satellite's cap_calls carry while this call is open
	Kind       string // CallTool, CallEvent, CallCommand, or a word the satellite does not know
	Name       string
	Args       Value
	DeadlineMS int64 // what was left when the frame was written, in milliseconds; see Left
}

// CapCall is the body of a cap_call: the satellite asks the host for an effect.
type CapCall struct {
	Token      []byte // of the invocation that asks; empty outside one
	Cap        string
	Args       Value // a Map
	DeadlineMS int64 // what was left when the frame was written, in milliseconds; see Left
}

// Result is the body of a hook_result and of a cap_result: a Value where OK, a Fault where not.
type Result struct {
	OK    bool
	Value Value
	Fault Fault
}

// Fault is a failure as it travels: a code from the protocol's list and a message for people.
type Fault struct{ Code, Msg string }

// Error is "code: msg".
func (f Fault) Error() string { return f.Code + ": " + f.Msg }

// Left is a deadline_ms as a duration. One that does not fit, which is some 292 years, becomes the longest that does; a
// negative one becomes zero, for time that has run out.
func Left(deadlineMS int64) time.Duration {
	if deadlineMS <= 0 {
		return 0
	}
	if deadlineMS > int64(math.MaxInt64/time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(deadlineMS) * time.Millisecond
}
