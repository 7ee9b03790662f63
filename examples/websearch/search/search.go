// Package search is the entry of the tool web_search.
package search

import (
	"fmt"
	"strings"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/net"
	"github.com/loomext/loomext/prelude/ext"

	"example.com/websearch/brave"
)

// request is schema/web_search.json, which loomext schema writes from it.
type request struct {
	_ struct{} `jsonschema:"additionalProperties=false"`

	// What to search for, in at most 50 words.
	Query string `json:"query" jsonschema:"minLength=1,maxLength=400"`
	// How many results at most. Left out, it is what the operator has set.
	Count int `json:"count,omitempty" jsonschema:"minimum=1,maximum=20"`
}

// settings is the [config] of extension.toml.
type settings struct {
	Results int `json:"results"`
}

// answer is the second block of an outcome. The first has the same as text.
type answer struct {
	Query   string         `json:"query"`
	Results []brave.Result `json:"results"`
}

// Run searches the web.
var Run = ext.Typed(func(ctx ext.Ctx, r request) (ext.Outcome, error) {
	query, err := brave.ParseQuery(r.Query)
	if err != nil {
		return ext.Outcome{}, ext.Refuse("query: %v", err)
	}
	count, err := r.count()
	if err != nil {
		return ext.Outcome{}, err
	}
	ctx.Report("searching the web for " + query.String())
	response, err := fetch(ctx, query.URL(count))
	if err != nil {
		return ext.Outcome{}, unanswered(err)
	}
	if response.Status != 200 {
		return ext.Outcome{}, refused(response)
	}
	found, skipped, err := brave.Results(response.Body, count)
	if err != nil {
		return ext.Outcome{}, ext.Refuse("the search service answered what cannot be read: %v; try once more, and then go on without a search", err)
	}
	if skipped > 0 {
		ctx.Report(fmt.Sprintf("left out %d entries without a usable address", skipped))
	}
	return outcome(query.String(), found)
})

// count is how many results are asked for.
func (r request) count() (int, error) {
	if r.Count != 0 {
		if r.Count < 1 || r.Count > brave.MaxCount {
			return 0, ext.Refuse("count is %d; ask for 1 to %d", r.Count, brave.MaxCount)
		}
		return r.Count, nil
	}
	s, err := ext.Config[settings]()
	if err != nil {
		return 0, err
	}
	if s.Results < 1 || s.Results > brave.MaxCount {
		return 0, ext.Refuse("results in the configuration is %d and can be 1 to %d; give count, or have the operator set it", s.Results, brave.MaxCount)
	}
	return s.Results, nil
}

// fetch makes the request, and once more where it failed on its way. The host adds the key.
func fetch(ctx ext.Ctx, address string) (net.Response, error) {
	get := net.Request{Method: "GET", URL: address, Headers: map[string]string{"Accept": "application/json"}}
	response, err := net.Do(ctx, get)
	if cap.CodeOf(err) == cap.CodeNetFailed {
		ctx.Report("the request failed on its way; trying once more")
		response, err = net.Do(ctx, get)
	}
	return response, err
}

// outcome is what was found as text and as JSON.
func outcome(query string, found []brave.Result) (ext.Outcome, error) {
	out, err := ext.JSON(answer{Query: query, Results: append([]brave.Result{}, found...)})
	if err != nil {
		return ext.Outcome{}, err
	}
	out.Content = append([]ext.Content{ext.TextContent{Text: text(query, found)}}, out.Content...)
	return out, nil
}

// text lists results for reading. Every piece of them is one line.
func text(query string, found []brave.Result) string {
	if len(found) == 0 {
		return fmt.Sprintf("No results for %s. Fewer words, or other ones, find more.\n", query)
	}
	var b strings.Builder
	for i, r := range found {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, r.Title, r.URL)
		if r.Description != "" {
			fmt.Fprintf(&b, "   %s\n", r.Description)
		}
	}
	return b.String()
}
