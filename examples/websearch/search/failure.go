package search

import (
	"errors"
	"fmt"
	"time"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/net"
	"github.com/loomext/loomext/prelude/ext"

	"example.com/websearch/brave"
)

// keyVariable is the secret that extension.toml names. Its value is never seen here.
const keyVariable = "BRAVE_API_KEY"

// unanswered says what to do about a request that got no answer. A model reads it: what it can
// change, it is told to change, and what it cannot, it is told whose business it is.
func unanswered(err error) error {
	said := err.Error()
	if e, ok := errors.AsType[*cap.Error](err); ok {
		said = e.Msg
	}
	switch cap.CodeOf(err) {
	case cap.CodeUnavailable:
		return ext.Refuse("this host cannot search: %s. Whoever runs it sees to %s, which is a key of https://brave.com/search/api/; until then another call ends the same way", said, keyVariable)
	case cap.CodeDenied, cap.CodeNotAllowed, cap.CodeNetworkOff:
		return ext.Refuse("the host does not let this request through: %s. Do not repeat it; go on without a search", said)
	case cap.CodePolicy: // of size, or of requests and redirects
		return ext.Refuse("the search came to more than the host allows: %s. If its answer was too large, ask for fewer results with count; if not, go on without a search", said)
	case cap.CodeTooLarge:
		return ext.Refuse("the search came to more than the host allows: %s. Ask for fewer results with count", said)
	case cap.CodeNetFailed:
		return ext.Refuse("the search service cannot be reached, and was tried twice: %s. Try again later, or go on without a search", said)
	case cap.CodeDeadline:
		return ext.Refuse("the search service did not answer in time: %s. Try once more, and then go on without a search", said)
	case cap.CodeCancelled:
		return ext.Refuse("the search was given up: %s", said)
	}
	return ext.Refuse("the search failed: %v. Repeating it will not help; go on without a search", err)
}

// refused says what to do about an answer that is no success.
func refused(r net.Response) error {
	failure := brave.ReadFailure(r.Body)
	why := failure.Detail
	if why == "" {
		why = "no reason given"
	}
	switch {
	case r.Status == 401 || r.Status == 403 || failure.KeyRefused():
		return ext.Refuse("the search service refuses the key (status %d: %s). Whoever runs this host sees to %s; until then another call ends the same way", r.Status, why, keyVariable)
	case r.Status == 429:
		return ext.Refuse("the search service takes no more searches now (status 429: %s). %s", why, advice(r.Headers))
	case r.Status == 402:
		return ext.Refuse("the search service wants its plan paid (status 402: %s). That is the business of whoever runs this host; go on without a search", why)
	case r.Status == 400 || r.Status == 422:
		return ext.Refuse("the search service does not take this query (status %d: %s). Put it in other, plainer words", r.Status, why)
	case r.Status >= 500:
		return ext.Refuse("the search service is out of order (status %d: %s). %s", r.Status, why, later(r.Headers))
	}
	return ext.Refuse("the search service answered with status %d (%s), which is none that it should. Go on without a search", r.Status, why)
}

// patience is how long a model may reasonably wait for its next search.
const patience = 2 * time.Minute

// later is what to do about a service that is out of order.
func later(headers map[string]string) string {
	if wait, known := brave.Wait(headers); known && wait <= patience {
		return fmt.Sprintf("Try again in %.0f s, or go on without a search", wait.Seconds())
	}
	return "Try again later, or go on without a search"
}

// advice is what to do about a limit, by when it ends.
func advice(headers map[string]string) string {
	wait, known := brave.Wait(headers)
	switch {
	case !known:
		return "Search again in a few seconds, one search at a time"
	case wait <= patience:
		return fmt.Sprintf("Search again in %.0f s, one search at a time", wait.Seconds())
	case wait < 48*time.Hour:
		return fmt.Sprintf("The quota is used up for the next %.0f hours; go on without a search", wait.Hours())
	}
	return fmt.Sprintf("The quota is used up for the next %.0f days; go on without a search", wait.Hours()/24)
}
