package manifest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/loomext/loomext/internal/tomlfile"
)

// refusedSchemes mean something of their own to a client, which would never ask
// the extension for such a URI, or would take its answer for another's.
var refusedSchemes = map[string]string{
	"file":       "it names a file of the reader's own machine",
	"http":       "readers fetch it from the web themselves",
	"https":      "readers fetch it from the web themselves",
	"data":       "it is the data itself",
	"javascript": "readers may run it",
	"loomext":    "it names what loomext itself serves",
}

// uriPart is a stretch of a URI as it is, or one variable of a template.
type uriPart struct {
	literal, variable string
}

// splitURI reads a resource's URI: an absolute one without a fragment, or such a
// template of RFC 6570, level 1. Where it is neither, there are no parts, and msg
// and fix say why.
func splitURI(uri string) (parts []uriPart, msg, fix string) {
	if len(uri) > maxURI {
		return nil, fmt.Sprintf("it has more than %d bytes", maxURI), "shorten it"
	}
	if msg, fix := schemeFault(uri); msg != "" {
		return nil, msg, fix
	}
	var seen []string
	filled := ""
	for rest := uri; rest != ""; {
		end := strings.IndexAny(rest, "{}")
		switch {
		case end < 0:
			end = len(rest)
			fallthrough
		case end > 0:
			if msg, fix := literalFault(rest[:end]); msg != "" {
				return nil, msg, fix
			}
			parts = append(parts, uriPart{literal: rest[:end]})
			filled, rest = filled+rest[:end], rest[end:]
			continue
		}
		variable, after, closed := strings.Cut(rest[1:], "}")
		if rest[0] == '}' || !closed {
			return nil, "a brace in it has no partner", `write a variable like {id}, and a brace itself as %7B or %7D`
		}
		if msg, fix := variableFault(variable, seen); msg != "" {
			return nil, msg, fix
		}
		if parts[len(parts)-1].variable != "" {
			return nil, "two variables touch, so nobody could tell where one ends", "put a slash between them"
		}
		seen, parts = append(seen, variable), append(parts, uriPart{variable: variable})
		filled, rest = filled+"0", after // a digit may stand wherever a URI has room
	}
	if u, err := url.Parse(filled); err != nil || u.Scheme == "" {
		return nil, "it is not a URI", `write one like "notes://today"`
	}
	return parts, "", ""
}

// schemeFault says what is wrong with the part before the colon.
func schemeFault(uri string) (msg, fix string) {
	scheme, rest, ok := strings.Cut(uri, ":")
	lower := strings.ToLower(scheme)
	why, refused := refusedSchemes[lower]
	switch {
	case !ok || !isScheme(lower):
		return "it has no scheme", `write one of your own, like "notes://today"`
	case refused:
		return "the scheme " + tomlfile.Quote(lower) + " has a meaning of its own: " + why, `write one of your own, like "notes://today"`
	case scheme != lower:
		return "its scheme is not in lower case", "write " + tomlfile.Quote(lower)
	case strings.Trim(rest, "/") == "":
		return "nothing stands after the scheme", `write what is to be read, like "notes://today"`
	}
	return "", ""
}

// isScheme is that of RFC 3986, in lower case.
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && !strings.ContainsRune("+-.", rune(c))) {
			return false
		}
	}
	return s != ""
}

// uriMarks are the characters of a URI beside letters, digits and percent signs.
// An apostrophe is one too, but no template may hold it.
const uriMarks = "-._~:/?[]@!$&()*+,;="

// literalFault says what is wrong with a stretch that is no variable.
func literalFault(s string) (msg, fix string) {
	for i, r := range s {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(uriMarks, r):
		case r == '#':
			return "it has a fragment, which readers keep to themselves", "leave out what stands from the # on"
		case r == '%':
			if len(s) < i+3 || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return "a percent sign in it is not followed by two hex digits", "write the sign itself as %25"
			}
		default:
			return "it holds " + tomlfile.Quote(string(r)) + ", which a URI does not", "write it as " + percent(r)
		}
	}
	return "", ""
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// percent writes a character the way a URI carries it.
func percent(r rune) string {
	var b strings.Builder
	for _, c := range []byte(string(r)) {
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}

// variableFault says what is wrong with what stands in braces.
func variableFault(name string, seen []string) (msg, fix string) {
	const write = "write a variable like {id}: lower-case letters, digits and underscores, beginning with a letter"
	switch {
	case name != "" && strings.ContainsRune("+#./;?&=,!@|", rune(name[0])), strings.ContainsAny(name, ",:*"):
		return tomlfile.Quote("{"+name+"}") + " is more than a plain variable", write
	case !isVariable(name):
		return tomlfile.Quote("{"+name+"}") + " is no variable", write
	case slices.Contains(seen, name):
		return tomlfile.Quote("{"+name+"}") + " stands there twice", "name each variable once"
	}
	return "", ""
}

// isVariable is [a-z][a-z0-9_]*: what both a template and a Go field's tag carry.
func isVariable(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (i == 0 || (c < '0' || c > '9') && c != '_') {
			return false
		}
	}
	return s != ""
}

// isMIMEType is a media type without parameters: the two names of RFC 6838, in
// lower case.
func isMIMEType(s string) bool {
	kind, of, ok := strings.Cut(s, "/")
	return ok && isMIMEName(kind) && isMIMEName(of)
}

func isMIMEName(s string) bool {
	for i := range len(s) {
		c := s[i]
		plain := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !plain && (i == 0 || !strings.ContainsRune("!#$&-^_.+", rune(c))) {
			return false
		}
	}
	return s != ""
}
