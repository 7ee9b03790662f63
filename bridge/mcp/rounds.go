package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/host"
)

// maxRounds is how often a client may be asked for one call: as often as an invocation
// may ask. A tool that comes to more asks something else each time it is run.
const maxRounds = 8

// asked names a question: an answer belongs to these very words, and a tool that asks
// something else under the same key when it is run again does not get it.
type asked struct {
	Key    string `json:"k"`
	Digest string `json:"d"`
}

func askedOf(r host.AskRequest) asked {
	digest := sha256.Sum256(append([]byte(r.Kind+"\x00"), r.Params...))
	return asked{Key: r.Key, Digest: base64.RawURLEncoding.EncodeToString(digest[:12])} // as many bytes as no accident meets
}

// answered is a question with its answer.
type answered struct {
	asked
	Answer json.RawMessage `json:"v"`
}

// rounds asks a client of the stateless revision: where an answer is not there yet the
// run of the tool ends, the client is told what is asked, and it sends its request again
// with answers. The tool is then run anew, and finds what it asked before answered.
type rounds struct {
	call call
	stop context.CancelFunc

	mu       sync.Mutex
	done     int                        // rounds before this one
	known    []answered                 // by earlier rounds, and in this one
	expected map[string]string          // the digest of what was asked last, by key; nil where no state says so
	pending  map[string]pendingQuestion // by key
	missing  map[string]bool            // capabilities
	fault    error
}

type pendingQuestion struct {
	asked
	put sdk.InputRequest
}

func newRounds(c call, stop context.CancelFunc) (*rounds, error) {
	r := &rounds{call: c, stop: stop, pending: map[string]pendingQuestion{}, missing: map[string]bool{}}
	if c.state == "" {
		return r, nil
	}
	s, err := unseal(c.state, binding(c))
	if err != nil {
		return nil, rpcError(jsonrpc.CodeInvalidParams, err.Error(), nil)
	}
	r.done, r.known, r.expected = s.Rounds, s.Answers, map[string]string{}
	for _, q := range s.Asked {
		r.expected[q.Key] = q.Digest
	}
	return r, nil
}

// end is nothing here: what is asked goes with the answer.
func (*rounds) end() {}

func (r *rounds) ask(_ context.Context, requests []host.AskRequest) ([]json.RawMessage, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	questions, err := questionsOf(r.call.extension, requests, r.call.client.can())
	if m, ok := err.(missing); ok {
		r.missing[m.capability] = true
	}
	if err != nil {
		return nil, err
	}
	answers := make([]json.RawMessage, len(questions))
	unanswered := false
	for i, q := range questions {
		name := askedOf(requests[i])
		if answers[i], err = r.answerTo(name, q); err != nil {
			r.fault = rpcError(jsonrpc.CodeInvalidParams, "inputResponses: "+err.Error(), nil)
			r.stop()
			return nil, err
		}
		if answers[i] != nil {
			continue
		}
		unanswered = true
		if _, taken := r.pending[q.key]; !taken { // else it is asked in the next round
			r.pending[q.key] = pendingQuestion{name, q.put}
		}
	}
	if unanswered {
		r.stop()
		return nil, errAsked
	}
	return answers, nil
}

// answerTo is the answer that there is, or nil. One that came with this request, to what
// was asked, is known from now on.
func (r *rounds) answerTo(name asked, q question) (json.RawMessage, error) {
	for _, a := range r.known {
		if a.asked == name {
			return a.Answer, nil
		}
	}
	response, there := r.call.responses[q.key]
	if !there || r.expected != nil && r.expected[q.key] != name.Digest {
		return nil, nil
	}
	answer, err := q.answer(response)
	if err != nil {
		return nil, err
	}
	r.known = append(r.known, answered{name, answer})
	return answer, nil
}

// toAsk is called once the tool has ended.
func (r *rounds) toAsk(failure error) (sdk.InputRequestMap, string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault != nil {
		return nil, "", r.fault
	}
	if len(r.pending) == 0 {
		return nil, "", r.lacking(failure)
	}
	if r.done >= maxRounds {
		return nil, "", r.endless(fmt.Sprintf("it has asked %d times, and something else each time it was run", r.done))
	}
	s := state{Rounds: r.done + 1, Answers: r.known}
	asks := sdk.InputRequestMap{}
	for key, q := range r.pending {
		asks[key] = q.put
		s.Asked = append(s.Asked, q.asked)
	}
	text, err := seal(s, binding(r.call))
	if err != nil {
		return nil, "", r.endless(err.Error())
	}
	return asks, text, nil
}

func (r *rounds) endless(why string) error {
	return &host.Error{Kind: host.Protocol, Extension: r.call.extension, Target: r.call.tool, Code: "protocol", Msg: why}
}

// lacking is the answer where a tool gave up because the client had not declared what it
// asked for.
func (r *rounds) lacking(failure error) error {
	e, ok := failureOf(failure)
	if !ok || e.Kind != host.Refused || len(r.missing) == 0 {
		return nil
	}
	required, list := map[string]any{}, ""
	for _, capability := range []string{canElicit, canSample, canRoots} {
		if r.missing[capability] {
			required[capability] = struct{}{}
			list += ", " + capability
		}
	}
	data := about(e)
	data["requiredCapabilities"] = required
	return rpcError(sdk.CodeMissingRequiredClientCapabilities,
		fmt.Sprintf("%s asks what this client did not declare: %s", e.Extension, list[2:]), data)
}
