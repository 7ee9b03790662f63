package search

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

const two = `{"web": {"results": [
	{"title": "The <strong>first</strong>", "url": "https://one.example/", "description": "It&#x27;s the <b>first</b>."},
	{"title": "No address", "url": ""},
	{"title": "The second", "url": "https://two.example/?a=1&b=2"}]}}`

// service answers the requests of a test and keeps what it was asked.
type service struct {
	*captest.Host
	asked []asked
}

// asked is one request.
type asked struct {
	method, address string
	headers         map[string]string
}

// newService has one answer, or failure, for each request; the last is for all that follow.
func newService(t *testing.T, answers ...any) *service {
	t.Helper()
	s := &service{Host: captest.New(t)}
	s.Config(map[string]any{"results": 10})
	s.Handle("net.request", func(c captest.Call) (captest.Value, error) {
		var a asked
		var err error
		if a.method, err = report.StringAt(c.Args, "method"); err != nil {
			return captest.Value{}, err
		}
		if a.address, err = report.StringAt(c.Args, "url"); err != nil {
			return captest.Value{}, err
		}
		if a.headers, err = report.StringsAt(c.Args, "headers"); err != nil {
			return captest.Value{}, err
		}
		s.asked = append(s.asked, a)
		next := answers[min(len(s.asked), len(answers))-1]
		if failure, ok := next.(*cap.Error); ok {
			return captest.Value{}, failure
		}
		return next.(captest.Value), nil
	})
	return s
}

func ok(body string) captest.Value { return captest.Response(200, nil, []byte(body)) }

func (s *service) search(args string) (ext.Outcome, error) {
	return Run(s.Ctx(), json.RawMessage(args))
}

func TestASearchGivesTextAndJSON(t *testing.T) {
	s := newService(t, ok(two))
	out, err := s.search(`{"query": " first\tthings & more ", "count": 5}`)
	if err != nil {
		t.Fatal(err)
	}
	const text = "1. The first\n   https://one.example/\n   It's the first.\n\n2. The second\n   https://two.example/?a=1&b=2\n"
	const document = `{"query":"first things & more","results":[` +
		`{"title":"The first","url":"https://one.example/","description":"It's the first."},` +
		`{"title":"The second","url":"https://two.example/?a=1&b=2","description":""}]}`
	if len(out.Content) != 2 || out.Content[0] != (ext.TextContent{Text: text}) || out.Terminate != ext.ContinueRun {
		t.Errorf("got %q", out.Content)
	} else if block, is := out.Content[1].(ext.JSONContent); !is || string(block.Value) != document {
		t.Errorf("got  %s\nwant %s", block.Value, document)
	}
	if got := fmt.Sprint(s.Partials()); got != "[searching the web for first things & more left out 1 entries without a usable address]" {
		t.Error(got)
	}
	if len(s.asked) != 1 || s.asked[0].method != "GET" {
		t.Fatalf("%+v", s.asked)
	}
	u, err := url.Parse(s.asked[0].address)
	if err != nil || u.Host != "api.search.brave.com" || u.Query().Get("q") != "first things & more" || u.Query().Get("count") != "5" {
		t.Errorf("%s, %v", s.asked[0].address, err)
	}
	if got := fmt.Sprint(s.asked[0].headers); got != "map[Accept:application/json]" {
		t.Errorf("the headers are %s, and the key is the host's to add", got)
	}
}

func TestTheOperatorSetsHowMany(t *testing.T) {
	s := newService(t, ok(two))
	s.Config(map[string]any{"results": 1})
	out, err := s.search(`{"query": "x"}`)
	if err != nil || !strings.Contains(s.asked[0].address, "count=1&") || strings.Contains(fmt.Sprint(out), "second") {
		t.Errorf("%v, %v, %+v", out, err, s.asked)
	}
}

func TestNothingFoundIsAnAnswer(t *testing.T) {
	out, err := newService(t, ok(`{"type": "search"}`)).search(`{"query": "xyzzy"}`)
	if err != nil || !strings.Contains(fmt.Sprint(out.Content[0]), "No results for xyzzy. Fewer words") {
		t.Fatalf("%v, %v", out, err)
	}
	if block := out.Content[1].(ext.JSONContent); string(block.Value) != `{"query":"xyzzy","results":[]}` {
		t.Errorf("%s", block.Value)
	}
}

func TestArgumentsAreRefusedBeforeAnyRequest(t *testing.T) {
	for args, want := range map[string]string{
		`{"query": " "}`:                                   "query: it is empty; give the words to search for",
		`{"query": "x", "count": 21}`:                      "count is 21; ask for 1 to 20",
		`{"query": "x", "count": -1}`:                      "count is -1; ask for 1 to 20",
		`{"query": "x", "count": "two"}`:                   "count",
		`{"query": 3}`:                                     "query",
		`{"query": "` + strings.Repeat("word ", 51) + `"}`: "51 words and at most 50",
	} {
		s := newService(t, ok(two))
		if _, err := s.search(args); err == nil || !strings.Contains(err.Error(), want) || len(s.asked) != 0 {
			t.Errorf("%s: %v, after %d requests; want %q", args, err, len(s.asked), want)
		}
	}
	for results, want := range map[any]string{0: "results in the configuration is 0 and can be 1 to 20", 21: "is 21", "ten": "results"} {
		s := newService(t, ok(two))
		s.Config(map[string]any{"results": results})
		if _, err := s.search(`{"query": "x"}`); err == nil || !strings.Contains(err.Error(), want) || len(s.asked) != 0 {
			t.Errorf("results %v: %v; want %q", results, err, want)
		}
	}
}

func TestWhatTheHostRefusesIsToldInWordsThatHelp(t *testing.T) {
	for _, tt := range []struct {
		code, msg, want string
		requests        int
	}{
		{cap.CodeUnavailable, "BRAVE_API_KEY is not set", "this host cannot search: BRAVE_API_KEY is not set. Whoever runs it sees to BRAVE_API_KEY, which is a key of", 1},
		{cap.CodeDenied, "net was not granted", "does not let this request through: net was not granted. Do not repeat it", 1},
		{cap.CodeNotAllowed, "a.test is not one of the hosts", "does not let this request through: a.test is not one", 1},
		{cap.CodeNetworkOff, "no [net] table", "does not let this request through: no [net]", 1},
		{cap.CodePolicy, "the response has more than 1048576 bytes", "the response has more than 1048576 bytes. If its answer was too large, ask for fewer results with count", 1},
		{cap.CodePolicy, "this invocation has made its 2 requests, redirects included", "redirects included. If its answer was too large, ask for fewer results with count; if not, go on without", 1},
		{cap.CodeTooLarge, "more than a frame", "Ask for fewer results with count", 1},
		{cap.CodeNetFailed, "the server hung up", "cannot be reached, and was tried twice: the server hung up. Try again later", 2},
		{cap.CodeDeadline, "15 s are over", "did not answer in time: 15 s are over. Try once more", 1},
		{cap.CodeInvalidArgument, "url has a space", "the search failed: net: GET \"https://api.search.brave.com/", 1},
		{"something_new", "from a later host", "something_new: from a later host. Repeating it will not help", 1},
	} {
		s := newService(t, &cap.Error{Code: tt.code, Msg: tt.msg})
		_, err := s.search(`{"query": "x"}`)
		if err == nil || !strings.Contains(err.Error(), tt.want) || len(s.asked) != tt.requests {
			t.Errorf("%s: %v, after %d requests; want %q after %d", tt.code, err, len(s.asked), tt.want, tt.requests)
		}
	}
}

func TestACancelledSearchSaysSo(t *testing.T) {
	s := newService(t, ok(two))
	s.Handle("net.request", func(captest.Call) (captest.Value, error) {
		s.End()
		return ok(two), nil
	})
	if _, err := s.search(`{"query": "x"}`); err == nil || !strings.Contains(err.Error(), "was given up") {
		t.Errorf("%v", err)
	}
}

func TestARequestThatFailedOnItsWayIsMadeOnceMore(t *testing.T) {
	s := newService(t, &cap.Error{Code: cap.CodeNetFailed, Msg: "reset"}, ok(two))
	if _, err := s.search(`{"query": "x"}`); err != nil || len(s.asked) != 2 || s.asked[0].address != s.asked[1].address {
		t.Errorf("%v, %+v", err, s.asked)
	}
}

func TestWhatTheServiceRefusesIsToldInWordsThatHelp(t *testing.T) {
	failure := func(code, detail string) string {
		return fmt.Sprintf(`{"type": "ErrorResponse", "error": {"code": %q, "detail": %q}}`, code, detail)
	}
	month := map[string]string{"x-ratelimit-remaining": "1, 0", "x-ratelimit-reset": "1, 1419704"}
	day := map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "36000"}
	second := map[string]string{"x-ratelimit-remaining": "0, 1000", "x-ratelimit-reset": "1, 1419704"}
	for _, tt := range []struct {
		status  int
		headers map[string]string
		body    string
		want    string
	}{
		{401, nil, "", "refuses the key (status 401: no reason given). Whoever runs this host sees to BRAVE_API_KEY"},
		{403, nil, failure("OPTION_NOT_IN_PLAN", "Not in plan"), "refuses the key (status 403: Not in plan)"},
		{422, nil, failure("SUBSCRIPTION_TOKEN_INVALID", "The token is invalid"), "refuses the key (status 422: The token is invalid)"},
		{422, nil, failure("VALIDATION", "q: too long"), "does not take this query (status 422: q: too long). Put it in other, plainer words"},
		{400, nil, "<html>", "does not take this query (status 400: no reason given)"},
		{402, nil, "", "wants its plan paid"},
		{429, second, failure("RATE_LIMITED", "Slow <b>down</b>"), "takes no more searches now (status 429: Slow down). Search again in 1 s, one search at a time"},
		{429, day, "", "The quota is used up for the next 10 hours"},
		{429, month, "", "The quota is used up for the next 16 days"},
		{429, nil, "", "Search again in a few seconds"},
		{429, map[string]string{"Retry-After": "30"}, "", "Search again in 30 s"},
		{503, map[string]string{"Retry-After": "30"}, "", "is out of order (status 503: no reason given). Try again in 30 s, or go on"},
		{503, map[string]string{"Retry-After": "3600"}, "", "Try again later, or go on"},
		{500, nil, "", "is out of order (status 500: no reason given). Try again later"},
		{503, nil, failure("", "busy"), "is out of order (status 503: busy)"},
		{204, nil, "", "answered with status 204"},
		{302, map[string]string{"Location": "https://elsewhere.test"}, "", "answered with status 302"},
	} {
		s := newService(t, captest.Response(tt.status, tt.headers, []byte(tt.body)))
		if _, err := s.search(`{"query": "x"}`); err == nil || !strings.Contains(err.Error(), tt.want) || len(s.asked) != 1 {
			t.Errorf("%d: %v, after %d requests; want %q", tt.status, err, len(s.asked), tt.want)
		}
	}
}

func TestAnAnswerThatCannotBeRead(t *testing.T) {
	if _, err := newService(t, ok("<html>busy</html>")).search(`{"query": "x"}`); err == nil || !strings.Contains(err.Error(), "cannot be read: it is not JSON") {
		t.Errorf("%v", err)
	}
}

// The manifest and the code name one variable, one host and one default.
func TestTheManifestSaysTheSame(t *testing.T) {
	text, err := os.ReadFile("../extension.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`env    = "` + keyVariable + `"`, `hosts              = ["api.search.brave.com"]`, `results = 10`} {
		if !strings.Contains(string(text), line+"\n") {
			t.Errorf("extension.toml lacks %s", line)
		}
	}
}
