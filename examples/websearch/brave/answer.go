package brave

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"unicode"

	"example.com/websearch/plain"
)

// The longest texts of a result, in characters. A model reads many results, and what a page says
// of itself is as long as its author likes.
const (
	maxTitle       = 200
	maxDescription = 500
	maxURL         = 2000
)

// Result is one page that was found. Title and Description are plain text on one line, and URL is
// an absolute address of the web.
type Result struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	Description string `json:"description"`
}

// Results reads the answer to a search: at most limit results, and how many entries were left out
// because they are not what a result is. An answer without results is none, and no error.
func Results(body []byte, limit int) (found []Result, skipped int, err error) {
	var answer struct {
		Web *struct {
			Results []json.RawMessage `json:"results"`
		} `json:"web"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, 0, errors.New("it is not JSON of the shape of a search: " + plain.Text(err.Error(), 200))
	}
	if answer.Web == nil {
		return nil, 0, nil
	}
	for _, raw := range answer.Web.Results {
		if len(found) == limit {
			break
		}
		if r, ok := result(raw); ok {
			found = append(found, r)
		} else {
			skipped++
		}
	}
	return found, skipped, nil
}

// result reads one entry. One without an address of the web is of no use.
func result(raw []byte) (Result, bool) {
	var r Result
	if json.Unmarshal(raw, &r) != nil || !isWeb(r.URL) {
		return Result{}, false
	}
	r.Title, r.Description = plain.Text(r.Title, maxTitle), plain.Text(r.Description, maxDescription)
	if r.Title == "" {
		r.Title = r.URL
	}
	return r, true
}

// isWeb wants an address that a reader sees as it is: absolute, of the web, without a user, and
// with no character that a URL does not have.
func isWeb(address string) bool {
	if len(address) > maxURL || strings.ContainsFunc(address, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }) {
		return false
	}
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}
