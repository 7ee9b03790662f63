package ask

import (
	"encoding/json"
	"errors"
	"fmt"
)

// What a person does with a Question: the Action of a [Reply].
const (
	Accept  = "accept"  // they answered; Content is what they filled in
	Decline = "decline" // they said no
	Cancel  = "cancel"  // they put it away without a choice
)

// The roles of a [Message].
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
)

// Request is something that [All] asks: a [Question], a [Prompt] or a [RootsRequest].
type Request interface {
	outgoing() (key, kind string, params any)
	incoming(answer []byte) (Response, error)
}

// Response is what came of one Request. The field that belongs to its kind is set.
type Response struct {
	Reply      Reply      // of a Question
	Completion Completion // of a Prompt
	Roots      []Root     // of a RootsRequest
}

// Question is for the person. An agent says which extension asks.
type Question struct {
	Key     string
	Message string // what they read
	// Schema is JSON Schema of the form that they fill in: an object whose properties
	// are strings, numbers, booleans and choices, and nothing nested. Without one there
	// is only yes and no. Ask for no password or key: they belong to [[net.secret]].
	Schema json.RawMessage
}

// Reply is what the person did.
type Reply struct {
	Action  string          `json:"action"`            // Accept, Decline or Cancel
	Content json.RawMessage `json:"content,omitempty"` // an object that should fit the Schema, where they accepted; check it
}

// nothingToFill is the form of a Question without a Schema.
var nothingToFill = json.RawMessage(`{"type":"object","properties":{}}`)

func (q Question) outgoing() (key, kind string, params any) {
	form := q.Schema
	if form == nil {
		form = nothingToFill
	}
	return q.Key, "user", struct {
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}{q.Message, form}
}

func (q Question) incoming(answer []byte) (Response, error) {
	var r Reply
	if err := json.Unmarshal(answer, &r); err != nil {
		return Response{}, err
	}
	switch r.Action {
	case Accept, Decline, Cancel:
		return Response{Reply: r}, nil
	}
	return Response{}, fmt.Errorf("the action is %.20q; want accept, decline or cancel", r.Action)
}

// Prompt is for the agent's model. The agent may change it, and may ask its person first.
type Prompt struct {
	Key       string
	System    string // what the model is told before, or nothing
	Messages  []Message
	MaxTokens int // how much the model may say, at least 1
}

// Message is one turn of a Prompt.
type Message struct {
	Role string `json:"role"` // RoleUser or RoleAssistant
	Text string `json:"text"`
}

// Completion is what the model said.
type Completion struct {
	Text       string `json:"text"`
	Model      string `json:"model"`       // its name, as the agent calls it
	StopReason string `json:"stop_reason"` // why it ended, in the agent's words
}

func (p Prompt) outgoing() (key, kind string, params any) {
	return p.Key, "model", struct {
		Messages  []Message `json:"messages"`
		System    string    `json:"system,omitempty"`
		MaxTokens int       `json:"max_tokens"`
	}{p.Messages, p.System, p.MaxTokens}
}

func (p Prompt) incoming(answer []byte) (Response, error) {
	var said struct {
		Text *string `json:"text"`
		Completion
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return Response{}, err
	}
	if said.Text == nil {
		return Response{}, errors.New("text is missing; want a string")
	}
	said.Completion.Text = *said.Text
	return Response{Completion: said.Completion}, nil
}

// RootsRequest asks for the roots among other requests.
type RootsRequest struct{ Key string }

// Root is a place that the agent works in, such as a project's directory. To know it
// gives no right to read it.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name"` // for people; may be empty
}

func (r RootsRequest) outgoing() (key, kind string, params any) {
	return r.Key, "roots", struct{}{}
}

func (r RootsRequest) incoming(answer []byte) (Response, error) {
	var list struct {
		Roots *[]Root `json:"roots"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return Response{}, err
	}
	if list.Roots == nil {
		return Response{}, errors.New("roots is missing; want a list")
	}
	return Response{Roots: *list.Roots}, nil
}
