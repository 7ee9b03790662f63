// Package brave knows Brave's web search: what a request for it looks like and what its answers
// mean. It makes no request and has no key: the host adds that on the way.
//
// The bounds here are those of the service, as its documentation has them.
package brave

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxCount is how many results one request can give.
	MaxCount = 20
	// maxQuery and maxWords bound a query, in characters and in words.
	maxQuery = 400
	maxWords = 50
)

const endpoint = "https://api.search.brave.com/res/v1/web/search"

// Query is the words of a search as the service takes them. It is made by [ParseQuery].
type Query struct{ words string }

// ParseQuery folds white space and holds a query against the bounds of the service. Its errors say
// what to do instead.
func ParseQuery(text string) (Query, error) {
	if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }); i >= 0 {
		return Query{}, fmt.Errorf("it has a control character at byte %d; leave it out", i)
	}
	words := strings.Fields(text)
	q := Query{strings.Join(words, " ")}
	switch n := utf8.RuneCountInString(q.words); {
	case n == 0:
		return Query{}, fmt.Errorf("it is empty; give the words to search for")
	case n > maxQuery:
		return Query{}, fmt.Errorf("it has %d characters and at most %d are taken; use fewer words", n, maxQuery)
	case len(words) > maxWords:
		return Query{}, fmt.Errorf("it has %d words and at most %d are taken; use the telling ones", len(words), maxWords)
	}
	return q, nil
}

// String is the query's words.
func (q Query) String() string { return q.words }

// URL is the address of a search for a number of results, 1 to [MaxCount].
func (q Query) URL(count int) string {
	parameters := url.Values{"q": {q.words}, "count": {strconv.Itoa(count)}}
	return endpoint + "?" + parameters.Encode()
}
