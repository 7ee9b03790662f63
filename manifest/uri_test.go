package manifest

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func variablesOf(uri string) []string {
	u, _ := ParseURI(uri)
	return u.Variables()
}

func valuesOf(template, uri string) (map[string]string, bool) {
	u, _ := ParseURI(template)
	return u.Values(uri)
}

func TestTheVariablesOfAURI(t *testing.T) {
	for uri, want := range map[string][]string{
		"notes://today":                   nil,
		"test://template/{id}/data":       {"id"},
		"note:{year}-{month}":             {"year", "month"},
		"notes://{book}:8080/{a_1}?q={q}": {"book", "a_1", "q"},
		"urn:isbn:{isbn}":                 {"isbn"},
		"notes://{a}{b}":                  nil, // no URI of a resource
		"file:///{path}":                  nil,
		"{":                               nil,
		"":                                nil,
	} {
		if got := variablesOf(uri); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", uri, got, want)
		}
	}
}

func TestTheValuesOfAURI(t *testing.T) {
	for _, test := range []struct {
		template, uri string
		want          map[string]string // nil where the URI is not of the form
	}{
		{"test://template/{id}/data", "test://template/123/data", map[string]string{"id": "123"}},
		{"test://template/{id}/data", "test://template/a%20b%2Fc/data", map[string]string{"id": "a b/c"}},
		{"test://template/{id}/data", "test://template/%E6%97%A5/data", map[string]string{"id": "日"}},
		{"test://template/{id}/data", "test://template//data", nil},
		{"test://template/{id}/data", "test://template/a/b/data", nil},
		{"test://template/{id}/data", "test://template/a/data/", nil},
		{"test://template/{id}/data", "xtest://template/a/data", nil},
		{"test://template/{id}/data", "test://template/a,b/data", nil},
		{"test://template/{id}/data", "test://template/%zz/data", nil},
		{"test://template/{id}/data", "test://template/%ff/data", nil}, // no text
		{"test://template/{id}/data", "test://template/a\n/data", nil},
		{"note:{year}-{rest}", "note:2026-11-30", map[string]string{"year": "2026-11", "rest": "30"}},
		{"notes://a.b/{id}", "notes://axb/1", nil},
		{"notes://today", "notes://today", map[string]string{}},
		{"notes://today", "notes://tomorrow", nil},
		{"notes://{id}", "notes://" + strings.Repeat("x", maxFilledURI), nil},
		{"file:///{path}", "file:///x", nil},
		{"", "", nil},
	} {
		got, ok := valuesOf(test.template, test.uri)
		if ok != (test.want != nil) || !maps.Equal(got, test.want) {
			t.Errorf("%q against %q: %q, %v", test.uri, test.template, got, ok)
		}
	}
}

func TestTwoURIsMeetWhereBothAnswerOne(t *testing.T) {
	for _, c := range []struct {
		one, other string
		meet, same bool
	}{
		{"notes://today", "notes://today", true, true},
		{"notes://today", "notes://tomorrow", false, false},
		{"notes://{zid}", "notes://{aname}", true, true},
		{"notes://{id}", "notes://today", true, false},
		{"notes://{id}", "notes://today/1", false, false},
		{"notes://{id}", "notes://", false, false}, // which is no URI of a resource
		{"notes://{a}/x", "notes://y/{b}", true, false},
		{"notes://{a}/x", "notes://{b}/y", false, false},
		{"notes://{a}-{b}", "notes://{c}", true, false},
		{"notes://{a}-{b}", "notes://x", false, false},
		{"notes://{a}/{b}", "notes://{c}", false, false},
		{"notes://a{b}", "notes://ab{c}c", true, false},
		{"notes://a{b}", "notes://b{b}", false, false},
		{"notes:/{a}", "notes:/%20", true, false},
		{"notes://{a}", "notes://a,b", false, false},
		{"notes://{a}", "other://{a}", false, false},
		{"note:{a}", "notes:{a}", false, false},
	} {
		one, _ := ParseURI(c.one)
		other, _ := ParseURI(c.other)
		if one.Meets(other) != c.meet || other.Meets(one) != c.meet {
			t.Errorf("%s and %s: %v, %v", c.one, c.other, one.Meets(other), other.Meets(one))
		}
		if one.sameForm(other) != c.same {
			t.Errorf("%s and %s: the same form is %v", c.one, c.other, !c.same)
		}
	}
}

func TestMediaTypes(t *testing.T) {
	for s, want := range map[string]bool{
		"text/plain": true, "application/vnd.api+json": true, "image/svg+xml": true, "model/3mf": true,
		"": false, "text": false, "text/": false, "/plain": false, "text/plain; charset=utf-8": false, "Text/plain": false,
		"text/*": false, "text/a/b": false, "text /plain": false, "té/xt": false,
	} {
		if isMIMEType(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

// FuzzURI holds that reading a URI is total; that one which is taken can be parsed
// by everybody once its variables are filled in; and that filling in and reading
// undo each other.
func FuzzURI(f *testing.F) {
	for _, uri := range []string{"notes://today", "test://template/{id}/data", "note:{a}-{b}", "x:{a}/%20?{b}", "x://[::1]/{a}", "x:{", "x:}{", "%:{a}", "file:///{a}", "日:{a}"} {
		f.Add(uri, "a b/日%")
	}
	f.Fuzz(func(t *testing.T, uri, value string) {
		parts, msg, fix := splitURI(uri)
		if (parts == nil) != (msg != "") || (msg == "") != (fix == "") {
			t.Fatalf("%q: %q, %q, %q", uri, parts, msg, fix)
		}
		if parts == nil {
			return
		}
		variables := variablesOf(uri)
		if len(variables) > 1 || value == "" || strings.ToValidUTF8(value, "") != value {
			value = "x" // two that take the same bytes may split them otherwise
		}
		filled := uri
		for _, v := range variables {
			filled = strings.Replace(filled, "{"+v+"}", strings.ReplaceAll(url.QueryEscape(value), "+", "%20"), 1)
		}
		if len(filled) > maxFilledURI || len(variables) > 1 {
			return
		}
		if fixed, ok := ParseURI(filled); ok {
			if template, _ := ParseURI(uri); !template.Meets(fixed) || !fixed.Meets(template) {
				t.Fatalf("%q and %q meet", uri, filled)
			}
		}
		got, ok := valuesOf(uri, filled)
		if !ok {
			t.Fatalf("%q is not of the form %q", filled, uri)
		}
		for _, v := range variables {
			if got[v] != value {
				t.Errorf("%q against %q: %q, want %q", filled, uri, got[v], value)
			}
		}
	})
}
