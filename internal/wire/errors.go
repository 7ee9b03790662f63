package wire

import (
	"errors"
	"strconv"
)

// Rule names the rule of the protocol that a frame broke. The vectors in testdata/wire speak of refusals by these words.
type Rule string

// The rules a decoder checks.
const (
	RuleLength    Rule = "length"    // the payload is longer than MaxFrame
	RuleTruncated Rule = "truncated" // the payload ends inside a value, or promises more elements than it has bytes
	RuleTrailing  Rule = "trailing"  // bytes follow the payload map
	RuleDepth     Rule = "depth"     // nested deeper than MaxDepth
	RuleValues    Rule = "values"    // more elements and entries than MaxValues
	RuleType      Rule = "type"      // an extension type, or the byte that MessagePack never uses
	RuleInteger   Rule = "integer"   // an integer beyond 64 signed bits
	RuleUTF8      Rule = "utf8"      // a str that is no UTF-8
	RuleKey       Rule = "key"       // a map key that is no str
	RuleDuplicate Rule = "duplicate" // a map with one key twice
	RuleEnvelope  Rule = "envelope"  // the payload is not {v: int, id: int, kind: str, body: map}
	RuleVersion   Rule = "version"   // v is not 1
	RuleWay       Rule = "way"       // a known kind that may not arrive at this side
	RuleID        Rule = "id"        // a hook_call whose id is below 1
	RuleBody      Rule = "body"      // the body of a known kind has a missing, mistyped or, at the host, extra field
)

// ProtocolError says why a frame was refused. The channel it came over cannot go on.
type ProtocolError struct {
	Rule   Rule
	Reason string // names the field where there is one; foreign text in it is quoted and cut short
}

func (e *ProtocolError) Error() string { return "protocol: " + e.Reason }

func refuse(rule Rule, reason string) error { return &ProtocolError{rule, reason} }

// within puts a place before the reason of a refusal.
func within(place string, err error) error {
	if e, ok := err.(*ProtocolError); ok {
		e.Reason = place + ": " + e.Reason
	}
	return err
}

// maxQuoted is how much of a foreign text a reason repeats: enough to recognize a key, too little to flood a log.
const maxQuoted = 64

func quote[T string | []byte](text T) string {
	if len(text) > maxQuoted {
		return strconv.QuoteToASCII(string(text[:maxQuoted])) + "…"
	}
	return strconv.QuoteToASCII(string(text))
}

// What cannot be written. A satellite answers unencodable for any of them.
var (
	ErrTooLarge  = errors.New("wire: the frame would be longer than 16 MiB; send less at once")
	ErrTooDeep   = errors.New("wire: the value nests deeper than a frame may; flatten it")
	ErrTooMany   = errors.New("wire: the value has more elements than a frame may hold; send fewer at once")
	ErrDuplicate = errors.New("wire: a map has the same key twice; give each entry a key of its own")
	ErrShape     = errors.New("wire: the frame is not of the shape its kind has; this is a fault of the program that writes it")
)
