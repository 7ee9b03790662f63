package manifest

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// ResourceURI is a resource's URI, read once: an absolute one, or a template of RFC 6570,
// level 1. [ParseURI] makes it; the zero value answers nothing.
type ResourceURI struct {
	parts     []uriPart
	variables []string
	filled    *regexp.Regexp // what a template answers; nil where there are no variables
}

// ParseURI reads the URI that a resource has in its manifest. It is false for what no manifest
// may hold there.
func ParseURI(uri string) (ResourceURI, bool) {
	parts, _, _ := splitURI(uri)
	if parts == nil {
		return ResourceURI{}, false
	}
	u := ResourceURI{parts: parts}
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for _, p := range parts {
		if p.variable != "" {
			u.variables = append(u.variables, p.variable)
			pattern.WriteString(`((?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})+)`)
		} else {
			pattern.WriteString(regexp.QuoteMeta(p.literal))
		}
	}
	if len(u.variables) > 0 {
		u.filled = regexp.MustCompile(pattern.String() + `\z`) // of bounded length, and quoted
	}
	return u, true
}

// Variables lists the variables in the order in which they stand there. A fixed URI has none.
func (u ResourceURI) Variables() []string { return slices.Clone(u.variables) }

// Values reads a URI that somebody asks for: each variable with what stands in its place,
// percent signs decoded. It is false where the URI is not of this form. A variable stands for
// at least one byte and never for a slash or another reserved character; where two split
// would do, the first takes the most.
func (u ResourceURI) Values(uri string) (map[string]string, bool) {
	if u.parts == nil || len(uri) > maxFilledURI {
		return nil, false
	}
	values := map[string]string{}
	if u.filled == nil {
		return values, uri == u.parts[0].literal
	}
	found := u.filled.FindStringSubmatch(uri)
	if found == nil {
		return nil, false
	}
	for i, name := range u.variables {
		value, err := url.PathUnescape(found[i+1])
		if err != nil || !utf8.ValidString(value) {
			return nil, false
		}
		values[name] = value
	}
	return values, true
}

// Meets reports whether a URI may be of both forms, so that nobody could tell whose it is. Of a
// percent sign it does not mind what follows, and so rather says that two meet.
func (u ResourceURI) Meets(other ResourceURI) bool {
	if u.parts == nil || other.parts == nil {
		return false
	}
	if n := min(len(u.parts[0].literal), len(other.parts[0].literal)); u.parts[0].literal[:n] != other.parts[0].literal[:n] {
		return false // as almost all do: both begin with a scheme
	}
	a, b := u.steps(), other.steps()
	// Every pair of places that the same bytes lead to, from the beginning of both.
	seen := make([]bool, (len(a)+1)*(len(b)+1))
	reach := [][2]int{{0, 0}}
	for len(reach) > 0 {
		i, j := reach[len(reach)-1][0], reach[len(reach)-1][1]
		reach = reach[:len(reach)-1]
		at := i*(len(b)+1) + j
		if seen[at] {
			continue
		}
		seen[at] = true
		if i == len(a) && j == len(b) {
			return true
		}
		if i < len(a) && a[i] == anyMore {
			reach = append(reach, [2]int{i + 1, j})
		}
		if j < len(b) && b[j] == anyMore {
			reach = append(reach, [2]int{i, j + 1})
		}
		if i < len(a) && j < len(b) && a[i].and(b[j]) {
			reach = append(reach, [2]int{a[i].next(i), b[j].next(j)})
		}
	}
	return false
}

// uriStep is one byte of a form: this one, or any that a variable may stand for.
type uriStep int

const (
	anyOne  uriStep = -1 // one byte of a variable
	anyMore uriStep = -2 // any number of further ones
)

func (u ResourceURI) steps() []uriStep {
	var steps []uriStep
	for _, p := range u.parts {
		for i := range len(p.literal) {
			steps = append(steps, uriStep(p.literal[i]))
		}
		if p.variable != "" {
			steps = append(steps, anyOne, anyMore)
		}
	}
	return steps
}

// next is the place after the step at a place has taken a byte.
func (s uriStep) next(at int) int {
	if s == anyMore {
		return at
	}
	return at + 1
}

// and reports whether there is a byte for both.
func (s uriStep) and(other uriStep) bool {
	switch {
	case s >= 0 && other >= 0:
		return s == other
	case s >= 0:
		return s.ofVariable()
	}
	return other < 0 || other.ofVariable()
}

// ofVariable reports whether a byte may be of a variable's value, as it stands in a URI.
func (s uriStep) ofVariable() bool {
	return s >= 'a' && s <= 'z' || s >= 'A' && s <= 'Z' || s >= '0' && s <= '9' || strings.ContainsRune("._~-%", rune(s))
}

// sameForm reports whether two are the same but for the names of variables: they answer the
// same URIs.
func (u ResourceURI) sameForm(other ResourceURI) bool {
	return slices.Equal(u.steps(), other.steps())
}
