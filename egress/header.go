package egress

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

const (
	// maxHeaders is how many headers a request has: several times what services ask for.
	maxHeaders = 64
	// maxHeaderName is the length of a name, in bytes: longer than any registered one.
	maxHeaderName = 128
	// maxHeaderBytes is the length of all names and values, in bytes: servers refuse more.
	maxHeaderBytes = 32 << 10
	// userAgent is sent where the requester names none.
	userAgent = "loomext"
)

// judgeHeaders makes the headers of a request, in their canonical spelling.
func (p *Policy) judgeHeaders(given map[string]string) (http.Header, *Error) {
	if len(given) > maxHeaders {
		return nil, errorf(Invalid, "headers: there are %d; the most is %d", len(given), maxHeaders)
	}
	header := make(http.Header, len(given)+3)
	size := 0
	for _, name := range slices.Sorted(maps.Keys(given)) { // sorted, so that the same fault is told each time
		value := given[name]
		if err := p.judgeHeader(name, value); err != nil {
			return nil, err
		}
		canonical := http.CanonicalHeaderKey(name)
		if _, twice := header[canonical]; twice {
			return nil, errorf(Invalid, "headers: %s is there in two spellings; write it once", quote(canonical))
		}
		header[canonical] = []string{value}
		if size += len(name) + len(value); size > maxHeaderBytes {
			return nil, errorf(Invalid, "headers: they have more than %d bytes in all; send less, or send it in the body", maxHeaderBytes)
		}
	}
	if header["User-Agent"] == nil {
		header["User-Agent"] = []string{userAgent}
	}
	return header, nil
}

func (p *Policy) judgeHeader(name, value string) *Error {
	if !isToken(name) {
		return errorf(Invalid, "headers: %s is no header name; write letters, digits and hyphens", quote(name))
	}
	if why := reserved(name); why != "" {
		return errorf(NotAllowed, "headers: %s may not be set: %s; leave it out", quote(name), why)
	}
	for _, c := range p.Secrets {
		if strings.EqualFold(c.Header, name) {
			return errorf(NotAllowed, "headers: %s carries the secret %s and is set by the host alone; leave it out", quote(name), c.Env)
		}
	}
	if what := oddValue(value); what != "" {
		return errorf(Invalid, "headers: the value of %s %s; remove or encode it", quote(name), what)
	}
	return nil
}

// isToken is RFC 9110's token.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != "" && len(s) <= maxHeaderName
}

// reserved says why a header is not the requester's, whatever its case.
func reserved(name string) string {
	switch lower := strings.ToLower(name); lower {
	case "host":
		return "the URL names the host"
	case "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings", "expect":
		return "it belongs to the connection"
	case "content-length":
		return "the body has its own length"
	default:
		if strings.HasPrefix(lower, "proxy-") {
			return "it speaks to a proxy"
		}
	}
	return ""
}

// oddValue says what of a value cannot stand in one header line. It goes by code
// point, so no encoding of one is cut in two.
func oddValue(value string) string {
	for _, r := range value {
		switch {
		case r == '\r' || r == '\n':
			return "has a line end"
		case r == 0:
			return "has a NUL"
		case r < ' ' || r == 0x7f:
			return "has a control character"
		case r > 0x7f:
			return "is not ASCII"
		}
	}
	if strings.HasPrefix(value, " ") || strings.HasSuffix(value, " ") {
		return "begins or ends with a space"
	}
	return ""
}
