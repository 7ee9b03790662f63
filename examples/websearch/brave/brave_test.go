package brave

import (
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

func TestQueriesAreHeldAgainstTheBounds(t *testing.T) {
	for text, want := range map[string]string{
		"go":                                    "go",
		"  two \n\t words ":                     "two words",
		`"exact" -not site:go.dev`:              `"exact" -not site:go.dev`,
		strings.Repeat("é", maxQuery):           strings.Repeat("é", maxQuery),
		strings.Repeat("a ", maxWords):          strings.TrimSpace(strings.Repeat("a ", maxWords)),
		"":                                      "error: it is empty; give the words to search for",
		" \n ":                                  "error: it is empty; give the words to search for",
		strings.Repeat("é", maxQuery+1):         "error: it has 401 characters and at most 400 are taken; use fewer words",
		strings.Repeat("a ", maxWords+1):        "error: it has 51 words and at most 50 are taken; use the telling ones",
		"a\x00b":                                "error: it has a control character at byte 1; leave it out",
		"a" + strings.Repeat(" ", 1000) + "b\n": "a b",
	} {
		q, err := ParseQuery(text)
		got := q.String()
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTheAddressCarriesAnyQuery(t *testing.T) {
	q, err := ParseQuery("go & rust #1?x=y&count=99 ../.. @evil.test\\ 100% +ü")
	if err != nil {
		t.Fatal(err)
	}
	address := q.URL(7)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	if u.Scheme != "https" || u.Host != "api.search.brave.com" || u.Path != "/res/v1/web/search" || u.Fragment != "" || u.User != nil {
		t.Errorf("%s leads elsewhere", address)
	}
	if got := u.Query(); len(got) != 2 || got.Get("q") != q.String() || got.Get("count") != "7" || len(got["count"]) != 1 {
		t.Errorf("%s has %v", address, got)
	}
}

func TestResultsOfAWholeAnswer(t *testing.T) {
	body, err := os.ReadFile("testdata/answer.json")
	if err != nil {
		t.Fatal(err)
	}
	found, skipped, err := Results(body, 10)
	if err != nil || skipped != 0 || len(found) != 3 {
		t.Fatalf("%+v, %d, %v", found, skipped, err)
	}
	want := Result{
		Title: "Gophers & burrows", URL: "https://example.org/gophers?a=1&copy=2",
		Description: "A gopher's burrow is up to 200 m long, and has one entrance that is open.",
	}
	if found[0] != want {
		t.Errorf("got  %+v\nwant %+v", found[0], want)
	}
	if found, _, _ := Results(body, 2); len(found) != 2 {
		t.Errorf("%d results, and 2 were asked for", len(found))
	}
}

func TestAnyAnswerIsRead(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:                                    "0 0",
		`{"web": null}`:                         "0 0",
		`{"web": {}}`:                           "0 0",
		`{"web": {"results": null}}`:            "0 0",
		`{"web": {"results": []}}`:              "0 0",
		`{"mixed": {"web": 3}}`:                 "0 0",
		`null`:                                  "0 0",
		`[]`:                                    "error",
		`{"web": 3}`:                            "error",
		`{"web": {"results": {}}}`:              "error",
		`{"web": {"results": [`:                 "error",
		`<html>busy</html>`:                     "error",
		``:                                      "error",
		"\x1f\x8b\x08":                          "error",
		results(`null`, `3`, `"x"`, `[]`, `{}`): "0 5",
		results(`{"url": 3}`, `{"title": "x"}`): "0 2",
		results(`{"url": "https://a.test/", "title": 3}`):                        "0 1",
		results(`{"url": "https://a.test/"}`, `{"url": "http://b.test"}`):        "2 0",
		results(`{"url": "javascript:alert(1)"}`, `{"url": "/relative"}`):        "0 2",
		results(`{"url": "https://u:p@a.test/"}`, `{"url": "https:///x"}`):       "0 2",
		results(`{"url": "https://a.test/ b"}`, `{"url": "https://a\u202e"}`):    "0 2",
		results(`{"url": "https://a.test/` + strings.Repeat("x", maxURL) + `"}`): "0 1",
	} {
		found, skipped, err := Results([]byte(body), 10)
		got := fmt.Sprint(len(found), skipped)
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %s, want %s (%v)", body, got, want, err)
		}
	}
}

func results(entries ...string) string {
	return `{"web": {"results": [` + strings.Join(entries, ", ") + `]}}`
}

func TestAResultWithoutATitleHasItsAddress(t *testing.T) {
	found, _, err := Results([]byte(results(`{"url": "https://a.test/", "title": "<b> </b>"}`)), 1)
	if err != nil || found[0].Title != "https://a.test/" {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestFailuresAreRead(t *testing.T) {
	for body, want := range map[string]Failure{
		`{"type": "ErrorResponse", "error": {"id": "1", "status": 429, "code": "RATE_LIMITED", "detail": "Too <b>fast</b>\n"}}`: {"RATE_LIMITED", "Too fast"},
		`{"error": {"code": "SUBSCRIPTION_TOKEN_INVALID"}}`:                                                                     {"SUBSCRIPTION_TOKEN_INVALID", ""},
		`{"error": {"code": 3}}`: {}, `{"error": "no"}`: {}, `[]`: {}, `oops`: {}, ``: {}, `null`: {},
	} {
		if got := ReadFailure([]byte(body)); got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
	if !(Failure{Code: "SUBSCRIPTION_TOKEN_INVALID"}).KeyRefused() || (Failure{Code: "VALIDATION"}).KeyRefused() {
		t.Error("a refused key is not told from a bad query")
	}
}

func TestHowLongToWait(t *testing.T) {
	for headers, want := range map[[2]string]time.Duration{
		{"0, 1000", "1, 1419704"}:           time.Second,
		{"1, 0", "1, 3600"}:                 time.Hour,
		{"0, 0", "1, 3600"}:                 time.Hour,
		{"0", "2"}:                          2 * time.Second,
		{"0", "99999999999999"}:             maxWait * time.Second,
		{"1, 1", "1, 3600"}:                 0,
		{"0, 1", "1"}:                       0,
		{"0", "soon"}:                       0,
		{"-1", "-5"}:                        0,
		{"0", "99999999999999999999999999"}: 0,
		{"", ""}:                            0,
	} {
		got, ok := Wait(map[string]string{"x-ratelimit-remaining": headers[0], "X-Ratelimit-Reset": headers[1]})
		if got != want || ok != (want > 0) {
			t.Errorf("%q: %s, %v; want %s", headers, got, ok, want)
		}
	}
	for _, tt := range []struct {
		headers map[string]string
		want    time.Duration
	}{
		{map[string]string{"retry-after": "30"}, 30 * time.Second},
		{map[string]string{"Retry-After": "0"}, 0},
		{map[string]string{"Retry-After": "-3"}, 0},
		{map[string]string{"Retry-After": "99999999999999"}, maxWait * time.Second},
		{map[string]string{"Retry-After": "30, 40"}, 0},
		{map[string]string{"Retry-After": "Mon, 30 Nov 2026 12:01:00 GMT", "Date": "Mon, 30 Nov 2026 12:00:00 GMT"}, time.Minute},
		{map[string]string{"Retry-After": "Mon, 30 Nov 2026 12:01:00 GMT"}, 0},
		{map[string]string{"Retry-After": "Mon, 30 Nov 2026 11:00:00 GMT", "Date": "Mon, 30 Nov 2026 12:00:00 GMT"}, 0},
		{map[string]string{"Retry-After": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60"}, time.Minute},
		{map[string]string{"Retry-After": "5", "X-RateLimit-Remaining": "0"}, 5 * time.Second},
	} {
		if got, ok := Wait(tt.headers); got != tt.want || ok != (tt.want > 0) {
			t.Errorf("%v: %s, %v; want %s", tt.headers, got, ok, tt.want)
		}
	}
	if _, ok := Wait(nil); ok {
		t.Error("no headers say how long to wait")
	}
}

func FuzzResults(f *testing.F) {
	f.Add([]byte(results(`{"url": "https://a.test/", "title": "x", "description": "<b>y"}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		found, _, err := Results(body, 3)
		if len(found) > 3 || err != nil && found != nil {
			t.Errorf("%d results, %v", len(found), err)
		}
		for _, r := range found {
			if r.Title == "" || !strings.HasPrefix(strings.ToLower(r.URL), "http") {
				t.Errorf("%+v", r)
			}
		}
	})
}
