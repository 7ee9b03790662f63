package egress

import (
	"net/url"
	"slices"
	"strings"
)

const (
	scheme = "https"
	// port is the only one a URL may name: a service on another port of a permitted
	// host is another service.
	port = "443"
	// maxURL is the length of a URL, in bytes: what servers take.
	maxURL = 8 << 10
	// maxHost and maxLabel are DNS's.
	maxHost  = 253
	maxLabel = 63
)

// target is a URL that was judged. There is one spelling of each part, the one that
// was given, and nothing reads the text again.
type target struct {
	host  string
	path  string // escaped, begins with a slash
	query string // escaped, without the question mark
	asks  bool   // there is a question mark
}

// url is what net/http sends: the path and the query byte for byte.
func (t target) url() *url.URL {
	path, err := url.PathUnescape(t.path)
	if err != nil { // judged: it cannot be
		path = t.path
	}
	return &url.URL{Scheme: scheme, Host: t.host, Path: path, RawPath: t.path, RawQuery: t.query, ForceQuery: t.asks && t.query == ""}
}

// judge reads a URL and holds it against the policy's hosts.
func (p *Policy) judge(raw string) (target, *Error) {
	t, err := readURL(raw)
	if err != nil {
		return target{}, err
	}
	if !slices.Contains(p.Hosts, t.host) {
		return target{}, errorf(NotAllowed, "url: the host %s is not one of those that were approved; name it in hosts of [net]", quote(t.host))
	}
	return t, nil
}

// readURL takes an https URL apart. What one parser could read in one way and
// another in another is refused, whatever this one would make of it. Letters of the
// host are not folded: hosts have one spelling in a manifest, a record and here.
func readURL(raw string) (target, *Error) {
	if err := readable(raw); err != nil {
		return target{}, err
	}
	rest, ok := strings.CutPrefix(raw, scheme+"://")
	if !ok {
		return target{}, otherScheme(raw)
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	host, err := readAuthority(authority)
	if err != nil {
		return target{}, err
	}
	t := target{host: host}
	t.path, t.query, t.asks = strings.Cut(tail, "?")
	if t.path == "" {
		t.path = "/"
	}
	if err := readPath(t.path); err != nil {
		return target{}, err
	}
	if i := oddEscape(t.query, isQuery); i >= 0 {
		return target{}, errorf(Invalid, "url: byte %d of the query, %s, cannot stand there; percent-encode it", i+1, quote(t.query[i:i+1]))
	}
	return t, nil
}

// readable refuses what must not stand anywhere in a URL.
func readable(raw string) *Error {
	if raw == "" {
		return errorf(Invalid, "url: it is empty; write one like https://api.example.com/path")
	}
	if len(raw) > maxURL {
		return errorf(Invalid, "url: it has %d bytes; the most is %d", len(raw), maxURL)
	}
	for i := range len(raw) {
		switch c := raw[i]; {
		case c <= ' ' || c == 0x7f:
			return errorf(Invalid, "url: byte %d is a space or a control character; percent-encode it", i+1)
		case c > 0x7f:
			return errorf(Invalid, "url: byte %d is not ASCII; percent-encode it, and write a host in its xn-- form", i+1)
		case c == '\\':
			return errorf(Invalid, "url: byte %d is a backslash, which some read as a slash; write / or %%5C", i+1)
		case c == '#':
			return errorf(Invalid, "url: it has a fragment, which is never sent; leave it out, or write %%23")
		}
	}
	return nil
}

func otherScheme(raw string) *Error {
	name, _, has := strings.Cut(raw, ":")
	switch {
	case !has || strings.ContainsAny(name, "/?"):
		return errorf(Invalid, "url: it does not begin with https://; write the whole URL")
	case name == scheme || strings.EqualFold(name, scheme):
		return errorf(Invalid, "url: it does not begin with https://, in lower case and with two slashes")
	}
	return errorf(NotAllowed, "url: the scheme %s is not permitted; only https is", quote(name))
}

// readAuthority reads a host and the one port it may have.
func readAuthority(authority string) (string, *Error) {
	switch {
	case authority == "":
		return "", errorf(Invalid, "url: there is no host after https://; write one")
	case strings.Contains(authority, "@"):
		return "", errorf(Invalid, "url: it has a user or a password before an @; leave them out, a credential is a [[net.secret]]")
	case strings.ContainsAny(authority, "[]"):
		return "", errorf(NotAllowed, "url: the host is an address; only names are permitted")
	case strings.Contains(authority, "%"):
		return "", errorf(Invalid, "url: the host is percent-encoded; write the name")
	}
	host, named, has := strings.Cut(authority, ":")
	if err := readHost(host); err != nil {
		return "", err
	}
	switch {
	case !has || named == port:
		return host, nil
	case named == "" || strings.Trim(named, "0123456789") != "" || named[0] == '0':
		return "", errorf(Invalid, "url: the port is not spelled as a port is; leave it out")
	}
	return "", errorf(NotAllowed, "url: the port %s is not permitted; requests go to port %s", quote(named), port)
}

// readHost takes exact names: lower-case labels of letters, digits and hyphens. A
// name whose last label is a number is an address to some parsers.
func readHost(host string) *Error {
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch {
	case host == "":
		return errorf(Invalid, "url: there is no host after https://; write one")
	case len(host) > maxHost:
		return errorf(Invalid, "url: the host has %d bytes; the most is %d", len(host), maxHost)
	case last == "":
		return errorf(Invalid, "url: the host ends in a dot; leave it out")
	case host != strings.ToLower(host):
		return errorf(Invalid, "url: the host is not in lower case; write %s", quote(strings.ToLower(host)))
	case isNumeric(last):
		return errorf(NotAllowed, "url: the host is an address, or some take it for one; only names are permitted")
	}
	for _, label := range labels {
		if !isLabel(label) {
			return errorf(Invalid, "url: %s is no host name; write letters, digits and hyphens between dots, at most %d", quote(host), maxLabel)
		}
	}
	return nil
}

func isLabel(s string) bool {
	if s == "" || len(s) > maxLabel || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// isNumeric is true for what URL parsers take for the last part of an IPv4 address:
// digits, or hexadecimal after 0x.
func isNumeric(label string) bool {
	if digits, hex := strings.CutPrefix(label, "0x"); hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// readPath takes the characters of RFC 3986, and no segment that some would remove
// before sending.
func readPath(path string) *Error {
	if i := oddEscape(path, isPath); i >= 0 {
		return errorf(Invalid, "url: byte %d of the path, %s, cannot stand there; percent-encode it", i+1, quote(path[i:i+1]))
	}
	for segment := range strings.SplitSeq(path, "/") {
		if len(segment) > 2*len("%2e") {
			continue
		}
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".", "..":
			return errorf(Invalid, "url: the path has a segment . or .., which some resolve and some send; write the path without")
		}
	}
	return nil
}

// oddEscape is the place of the first byte that is neither permitted nor part of a
// percent-encoding, or -1.
func oddEscape(s string, permitted func(byte) bool) int {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			i += 2
		case c == '%' || !permitted(c):
			return i
		}
	}
	return -1
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// isPath is a pchar of RFC 3986, or a slash.
func isPath(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~!$&'()*+,;=:@/", c) >= 0
}

// isQuery has in addition what stands in the queries of common services and is read
// alike by all: a[b]=c and a|b.
func isQuery(c byte) bool { return isPath(c) || strings.IndexByte("?[]|", c) >= 0 }
