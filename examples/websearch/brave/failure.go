package brave

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"example.com/websearch/plain"
)

// maxDetail bounds what is told of the service's own words, in characters.
const maxDetail = 300

// Failure is what the service says in an answer that is no success.
type Failure struct {
	Code   string // the service's word for it, such as RATE_LIMITED; empty where there is none
	Detail string // its sentence, as plain text; may be empty
}

// KeyRefused says that the failure is about the key and not about the search. The service answers
// an unknown key with 422, as it does a bad query.
func (f Failure) KeyRefused() bool { return strings.HasPrefix(f.Code, "SUBSCRIPTION_TOKEN_") }

// ReadFailure reads the body of such an answer. A body of any other shape gives the zero Failure.
func ReadFailure(body []byte) Failure {
	var answer struct {
		Error struct {
			Code   string `json:"code"`
			Detail string `json:"detail"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return Failure{}
	}
	return Failure{Code: plain.Text(answer.Error.Code, maxDetail), Detail: plain.Text(answer.Error.Detail, maxDetail)}
}

// maxWait is the longest wait that is believed, in seconds: a plan's windows are a second and a
// month.
const maxWait = 32 * 24 * 60 * 60

// Wait is how long the service asks a client to wait that was too fast, or over its quota: until
// the last of the windows that have nothing left begins anew, or as long as Retry-After says where
// that is longer. It is false where the headers do not say.
func Wait(headers map[string]string) (time.Duration, bool) {
	wait := 0
	if left, reset := numbers(headers, "X-RateLimit-Remaining"), numbers(headers, "X-RateLimit-Reset"); len(left) == len(reset) {
		for i, n := range left {
			if n == 0 {
				wait = max(wait, min(reset[i], maxWait))
			}
		}
	}
	wait = max(wait, min(retryAfter(headers), maxWait))
	return time.Duration(wait) * time.Second, wait > 0
}

// retryAfter is the header of that name in seconds: it has a number of them, or a time, which is held
// against that of the answer. It is 0 where it has neither.
func retryAfter(headers map[string]string) int {
	if after := numbers(headers, "Retry-After"); len(after) == 1 {
		return after[0]
	}
	at, err := time.Parse(time.RFC1123, value(headers, "Retry-After"))
	now, unknown := time.Parse(time.RFC1123, value(headers, "Date"))
	if err != nil || unknown != nil {
		return 0
	}
	return int(at.Sub(now) / time.Second)
}

// value is that of a header, or empty.
func value(headers map[string]string, name string) string {
	for key, value := range headers {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}

// numbers are those of a header such as "1, 1419704", or none where one of them is no number.
func numbers(headers map[string]string, name string) []int {
	var all []int
	for key, value := range headers {
		if !strings.EqualFold(key, name) {
			continue
		}
		for part := range strings.SplitSeq(value, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(part))
			if err != nil || n < 0 {
				return nil
			}
			all = append(all, n)
		}
	}
	return all
}
