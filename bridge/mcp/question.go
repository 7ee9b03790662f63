//lint:file-ignore SA1019 the SDK marks what the protocol gives a year's notice of; clients use it until then

package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/manifest"
)

// question is what an extension asks, as the protocol puts it.
type question struct {
	key, kind string
	put       sdk.InputRequest
	form      *manifest.Schema // of a person's answer
}

// newQuestion translates what an extension asks, and says which one it is: a client speaks of
// this server alone. An error is the extension's to hear.
func newQuestion(extension string, r host.AskRequest) (question, error) {
	q := question{key: r.Key, kind: r.Kind}
	switch r.Kind {
	case host.AskUser:
		var asked struct {
			Message string          `json:"message"`
			Schema  json.RawMessage `json:"requestedSchema"`
		}
		if err := json.Unmarshal(r.Params, &asked); err != nil {
			return q, err
		}
		form, err := formOf(asked.Schema)
		if err != nil {
			return q, fmt.Errorf("the form of %q cannot be put to a client: %w", r.Key, err)
		}
		q.form = form
		q.put = &sdk.ElicitParams{Mode: "form", Message: extension + " asks: " + asked.Message, RequestedSchema: asked.Schema}
	case host.AskModel:
		var asked struct {
			Messages []struct {
				Role sdk.Role `json:"role"`
				Text string   `json:"text"`
			} `json:"messages"`
			System    string `json:"system"`
			MaxTokens int64  `json:"max_tokens"`
		}
		if err := json.Unmarshal(r.Params, &asked); err != nil {
			return q, err
		}
		put := &sdk.CreateMessageWithToolsParams{SystemPrompt: strings.TrimSpace("The extension " + extension + " asks.\n" + asked.System), MaxTokens: asked.MaxTokens, Messages: []*sdk.SamplingMessageV2{}}
		for _, m := range asked.Messages {
			put.Messages = append(put.Messages, &sdk.SamplingMessageV2{Role: m.Role, Content: []sdk.Content{&sdk.TextContent{Text: m.Text}}})
		}
		q.put = put
	case host.AskRoots:
		q.put = &sdk.ListRootsParams{}
	default:
		return q, fmt.Errorf("nobody answers a question of kind %q here", r.Kind)
	}
	return q, nil
}

// formOf compiles the schema of a form: an object of plain fields. The names that the
// protocol had for the values of an enum are no part of the dialect, and are for the
// client alone.
func formOf(schema json.RawMessage) (*manifest.Schema, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(schema, &top); err != nil {
		return nil, errors.New("its schema is no object")
	}
	var properties map[string]map[string]json.RawMessage
	if raw, there := top["properties"]; there {
		if err := json.Unmarshal(raw, &properties); err != nil {
			return nil, errors.New("the properties of its schema are no schemas of fields")
		}
	}
	for name, property := range properties {
		delete(property, "enumNames")
		if _, nested := property["properties"]; nested {
			return nil, fmt.Errorf("the field %q has fields of its own; ask for plain values", name)
		}
	}
	plain, err := json.Marshal(properties)
	if err != nil {
		return nil, err
	}
	if properties != nil {
		top["properties"] = plain
	}
	text, err := json.Marshal(top)
	if err != nil {
		return nil, err
	}
	return manifest.CompileSchema(text)
}

// The capabilities of a client, as it declares them.
const (
	canElicit = "elicitation"
	canSample = "sampling"
	canRoots  = "roots"
)

// needs is the capability that a client needs to answer a kind of question.
func needs(kind string) string {
	switch kind {
	case host.AskUser:
		return canElicit
	case host.AskModel:
		return canSample
	}
	return canRoots
}

// declares reports whether a client declared a capability.
func declares(can *sdk.ClientCapabilities, capability string) bool {
	switch capability {
	case canElicit: // by a form, which is what it means where it says nothing more
		return can.Elicitation != nil && (can.Elicitation.Form != nil || can.Elicitation.URL == nil)
	case canSample:
		return can.Sampling != nil
	}
	return can.RootsV2 != nil
}

// unable is the error of a question that the client cannot be asked.
func unable(capability string) error {
	return fmt.Errorf("the client cannot be asked for that: it did not declare %s; do without an answer", capability)
}

// answer translates what a client answered. An error says why it is no answer.
func (q question) answer(response any) (json.RawMessage, error) {
	switch r := response.(type) {
	case *sdk.ElicitResult:
		if q.kind == host.AskUser && r != nil {
			return q.filled(r)
		}
	case *sdk.CreateMessageWithToolsResult:
		if q.kind == host.AskModel && r != nil {
			return completion(r)
		}
	case *sdk.ListRootsResult:
		if q.kind == host.AskRoots && r != nil {
			return roots(r)
		}
	}
	return nil, fmt.Errorf("what came for %q is no answer to %s", q.key, needs(q.kind))
}

func (q question) filled(r *sdk.ElicitResult) (json.RawMessage, error) {
	said := struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content,omitempty"`
	}{Action: r.Action}
	switch r.Action {
	case "accept":
	case "decline", "cancel":
		return json.Marshal(said)
	default:
		return nil, fmt.Errorf("the action of %q is %.20q; it is accept, decline or cancel", q.key, r.Action)
	}
	content := r.Content
	if content == nil {
		content = map[string]any{}
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	if faults := q.form.Check(text); len(faults) > 0 {
		return nil, fmt.Errorf("the content of %q does not fit the form: %w", q.key, manifest.SchemaFaults(faults))
	}
	said.Content = text
	return json.Marshal(said)
}

func completion(r *sdk.CreateMessageWithToolsResult) (json.RawMessage, error) {
	var text strings.Builder
	found := false
	for _, c := range r.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			text.WriteString(t.Text)
			found = true
		}
	}
	if !found {
		return nil, errors.New("the model answered without text")
	}
	return json.Marshal(struct {
		Role       string `json:"role"`
		Text       string `json:"text"`
		Model      string `json:"model"`
		StopReason string `json:"stop_reason"`
	}{string(r.Role), text.String(), r.Model, r.StopReason})
}

func roots(r *sdk.ListRootsResult) (json.RawMessage, error) {
	type root struct {
		URI  string `json:"uri"`
		Name string `json:"name"`
	}
	list := []root{}
	for _, one := range r.Roots {
		if one != nil {
			list = append(list, root{one.URI, one.Name})
		}
	}
	return json.Marshal(map[string]any{"roots": list})
}
