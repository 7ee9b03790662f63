package egress

import (
	"fmt"
	"strconv"
)

// Kind says what a caller can do about an [Error].
type Kind string

// The kinds.
const (
	Invalid    Kind = "invalid"     // the request is malformed; another spelling may do
	NotAllowed Kind = "not allowed" // the policy, or this package, would never permit it
	Leaked     Kind = "leaked"      // the response carries a secret back, or could hide one
	Ceiling    Kind = "ceiling"     // a bound on size, redirects or requests
	NoSecret   Kind = "no secret"   // a secret of the host is unset; nothing was opened
	Failed     Kind = "failed"      // on the wire
	Deadline   Kind = "deadline"    // of the context, or RequestTime
	Cancelled  Kind = "cancelled"   // the context, or the client was closed
)

// Error is a request that got no response. Msg has the place, what is wrong there
// and, where something can be done, what to do. It holds nothing that came from
// the network and no value of a header, and there is no further field.
type Error struct {
	Kind Kind
	Msg  string
}

func (e *Error) Error() string { return "egress: " + e.Msg }

func errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Msg: fmt.Sprintf(format, args...)}
}

// maxQuoted is how much of a requester's own text a message repeats, in bytes: a
// host name of the usual length.
const maxQuoted = 80

// quote makes a requester's own text safe to read.
func quote(s string) string {
	if len(s) > maxQuoted {
		return strconv.QuoteToASCII(s[:maxQuoted]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
