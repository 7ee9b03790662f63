package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// Whom an [AskRequest] is for.
const (
	AskUser  = "user"  // the person who runs the agent
	AskModel = "model" // the agent's model
	AskRoots = "roots" // the agent itself: the places it works in
)

// askRequests reads and judges what one call asks.
func askRequests(a *arguments) ([]AskRequest, *refusal) {
	var requests []AskRequest
	count := a.maps("requests", maxAskRequests, func(item *arguments) {
		requests = append(requests, AskRequest{Key: item.text("key"), Kind: item.text("kind"), Params: json.RawMessage(item.text("params"))})
	})
	switch refused := a.refused(); {
	case refused != nil:
		return nil, refused
	case count == 0:
		return nil, invalid("requests is empty; want 1 to " + strconv.Itoa(maxAskRequests))
	case count > maxAskRequests:
		return nil, policy("requests has " + strconv.Itoa(count) + " items; at most " + strconv.Itoa(maxAskRequests) + " at once")
	}
	seen := make(map[string]bool, len(requests))
	for n := range requests {
		if refused := requests[n].judge(askPlace(n), seen); refused != nil {
			return nil, refused
		}
	}
	return requests, nil
}

func askPlace(n int) string { return "requests[" + strconv.Itoa(n) + "]" }

// judge holds one request against the ceilings and its kind. Its params are written anew, so that every reader of them
// finds the same: each field once, and by its own name.
func (r *AskRequest) judge(place string, seen map[string]bool) *refusal {
	switch {
	case len(r.Key) > maxAskKey:
		return tooLarge(place+".key", len(r.Key), maxAskKey)
	case !askKey(r.Key):
		return invalid(place + ".key is " + quoted(r.Key) + "; want a lowercase letter, then lowercase letters, digits and _")
	case seen[r.Key]:
		return invalid(place + ".key is " + quoted(r.Key) + ", which another request has; give each its own")
	case len(r.Params) > maxAskParams:
		return tooLarge(place+".params", len(r.Params), maxAskParams)
	}
	seen[r.Key] = true
	var params askParams
	switch r.Kind {
	case AskUser:
		params = &userParams{}
	case AskModel:
		params = &modelParams{}
	case AskRoots:
		params = &rootsParams{}
	default:
		return invalid(place + ".kind is " + quoted(r.Kind) + "; want " + AskUser + ", " + AskModel + " or " + AskRoots)
	}
	text, err := rewritten(r.Params, params)
	if err != nil {
		return invalid(place + ".params: " + askReason(err))
	}
	r.Params = text
	return nil
}

func askKey(key string) bool {
	for n := range len(key) {
		c := key[n]
		if c >= 'a' && c <= 'z' || n > 0 && (c >= '0' && c <= '9' || c == '_') {
			continue
		}
		return false
	}
	return key != ""
}

// askParams is what one kind asks with.
type askParams interface{ fault() string }

// rewritten reads JSON into params and writes what was read.
func rewritten(text []byte, params askParams) (json.RawMessage, error) {
	if !isObject(text) {
		return nil, errors.New("want a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(params); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	if fault := params.fault(); fault != "" {
		return nil, errors.New(fault)
	}
	return json.Marshal(params)
}

func isObject(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && text[0] == '{'
}

type userParams struct {
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"requestedSchema"`
}

func (p *userParams) fault() string {
	switch {
	case p.Message == "":
		return "message is empty; say what is asked"
	case !isObject(p.Schema):
		return "requestedSchema is no JSON object; want the schema of a form"
	}
	return ""
}

type modelParams struct {
	Messages  []modelMessage `json:"messages"`
	System    string         `json:"system,omitempty"`
	MaxTokens int64          `json:"max_tokens"`
}

type modelMessage struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

func (p *modelParams) fault() string {
	if len(p.Messages) == 0 {
		return "messages is empty; want 1 at least"
	}
	for n, m := range p.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return "messages[" + strconv.Itoa(n) + "].role is " + quoted(m.Role) + "; want user or assistant"
		}
	}
	if p.MaxTokens < 1 {
		return "max_tokens is " + strconv.FormatInt(p.MaxTokens, 10) + "; want 1 at least"
	}
	return ""
}

type rootsParams struct{}

func (p *rootsParams) fault() string { return "" }
