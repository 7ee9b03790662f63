package egress

import "strings"

const (
	// MinSecret is the shortest secret, in bytes. A shorter value stands in responses
	// by chance, and could not be told from one that was carried back.
	MinSecret = 8
	// MaxSecret is the longest, in bytes: the longest tokens in use are half of it, and
	// servers refuse longer header lines.
	MaxSecret = 8 << 10
)

// Secret is the value of a credential. Its bytes are behind a closure, where no
// package that prints, logs, compares or serializes values can reach them. The
// zero Secret is one that is unset.
type Secret struct {
	reveal func() string
}

// NewSecret keeps a copy of value, which must be able to stand in a header: 8 bytes
// to 8 KiB of printable ASCII, without space at the ends. An error says what is
// wrong and where, without the value.
func NewSecret(value []byte) (Secret, error) {
	switch n := len(value); {
	case n == 0:
		return Secret{}, errorf(NoSecret, "secret: the value is empty; set it")
	case n < MinSecret:
		return Secret{}, errorf(NoSecret, "secret: the value has %d bytes, too few to be told from chance in a response; use one of at least %d", n, MinSecret)
	case n > MaxSecret:
		return Secret{}, errorf(NoSecret, "secret: the value has %d bytes; a header carries at most %d", n, MaxSecret)
	}
	for i, c := range value {
		if c < ' ' || c > '~' {
			return Secret{}, errorf(NoSecret, "secret: byte %d of %d cannot stand in a header; remove line ends, control and non-ASCII characters", i+1, len(value))
		}
	}
	if value[0] == ' ' || value[len(value)-1] == ' ' {
		return Secret{}, errorf(NoSecret, "secret: the value begins or ends with a space; remove it")
	}
	kept := string(value)
	return Secret{reveal: func() string { return kept }}, nil
}

func (s Secret) unset() bool { return s.reveal == nil }

// in is the header value that a format makes of the secret.
func (s Secret) in(format string) string {
	return strings.Replace(format, placeholder, s.reveal(), 1)
}

// placeholder is where the secret goes in a format.
const placeholder = "{}"
