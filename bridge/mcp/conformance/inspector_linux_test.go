package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// inspectWithin bounds one run of the Inspector, which takes less than a second.
const inspectWithin = 60 * time.Second

// The exit statuses of the Inspector that are asked for.
const (
	inspectedWell    = 0
	inspectedAnError = 5 // the tool's result is an error
)

// inspected is the result that the Inspector prints, as far as it is looked at here.
type inspected struct {
	Tools []struct {
		Name        string
		InputSchema json.RawMessage
	}
	Content []struct{ Type, Text string }
	IsError bool
	Meta    map[string]json.RawMessage `json:"_meta"`

	StructuredContent map[string]any
	Contents          []struct{ URI, Text string }
	Messages          []struct {
		Role    string
		Content struct{ Type, Text string }
	}
}

// text is the first block of text of the answer.
func (i inspected) text() string {
	if len(i.Content) == 0 {
		return ""
	}
	return i.Content[0].Text
}

// inspection is one thing that is asked of the server, and what must come back.
type inspection struct {
	name   string
	args   []string
	status int
	holds  func(t *testing.T, got inspected)
}

var inspections = []inspection{
	{"tools are listed", []string{"--method", "tools/list"}, inspectedWell, func(t *testing.T, got inspected) {
		names := map[string]bool{}
		for _, tool := range got.Tools {
			names[tool.Name] = true
			if !strings.Contains(string(tool.InputSchema), `"object"`) {
				t.Errorf("%s has the schema %s", tool.Name, tool.InputSchema)
			}
		}
		if !names["test_simple_text"] || !names["passing_tool"] || names["static_text"] {
			t.Errorf("listed: %v", names)
		}
	}},
	{"a call is answered", call("test_simple_text"), inspectedWell, func(t *testing.T, got inspected) {
		if got.IsError || got.text() != "This is a simple text response for testing." {
			t.Errorf("answered %+v", got)
		}
	}},
	{"an answer has structure", call("json_schema_2020_12_tool", "--tool-args-json", `{"email":"ada@example.org"}`), inspectedWell, func(t *testing.T, got inspected) {
		if got.StructuredContent["email"] != "ada@example.org" || !strings.Contains(got.text(), "ada@example.org") {
			t.Errorf("answered %+v", got)
		}
	}},
	{"faults of arguments have their places", call("json_schema_2020_12_tool", "--tool-args-json", `{"email":5}`), inspectedAnError, func(t *testing.T, got inspected) {
		if !got.IsError || !strings.Contains(got.text(), "/email") {
			t.Errorf("answered %+v", got)
		}
	}},
	{"a refusal says why, with its code", call("test_error_handling"), inspectedAnError, func(t *testing.T, got inspected) {
		if !got.IsError || !strings.Contains(got.text(), "intentionally") || string(got.Meta["loomext/code"]) != `"refused"` {
			t.Errorf("answered %+v", got)
		}
	}},
	{"a resource is read", []string{"--method", "resources/read", "--uri", "test://template/42/data"}, inspectedWell, func(t *testing.T, got inspected) {
		if len(got.Contents) != 1 || got.Contents[0].URI != "test://template/42/data" || !strings.Contains(got.Contents[0].Text, `"id":"42"`) {
			t.Errorf("read %+v", got.Contents)
		}
	}},
	{
		"a prompt is filled in",
		[]string{"--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=this", "arg2=that", "tone=formal"},
		inspectedWell,
		func(t *testing.T, got inspected) {
			if len(got.Messages) != 1 || got.Messages[0].Content.Text != "Prompt with arguments: arg1='this', arg2='that' in a formal tone" {
				t.Errorf("got %+v", got.Messages)
			}
		},
	},
}

func call(tool string, args ...string) []string {
	return append([]string{"--method", "tools/call", "--tool-name", tool}, args...)
}

func TestTheInspectorIsServed(t *testing.T) {
	dir := packages(t)
	s := newStore(t)
	if t.Failed() {
		return
	}
	at := s.serve(t)
	for _, transport := range []struct {
		name   string
		target []string
	}{
		{"stdio", []string{"-e", "LOOM_HOME=" + s.home, s.program, "mcp"}},
		{"http", []string{"--transport", "http", at}},
	} {
		for _, era := range []string{"legacy", "modern"} { // revisions with a handshake, and those without
			for _, i := range inspections {
				t.Run(transport.name+"/"+era+"/"+i.name, func(t *testing.T) {
					args := append(append([]string{"--cli"}, transport.target...), "--format", "json", "--protocol-era", era)
					inspect(t, dir, append(args, i.args...), i)
				})
			}
		}
	}
}

func inspect(t *testing.T, dir string, args []string, i inspection) {
	ctx, cancel := context.WithTimeout(t.Context(), inspectWithin)
	defer cancel()
	run := node(ctx, t, dir, inspectorProgram, args...)
	var out, said bytes.Buffer
	run.Stdout, run.Stderr = &out, &said
	err := run.Run()
	status := 0
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		status = ended.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if status != i.status {
		t.Fatalf("it ended with %d, not %d; it printed %s\nand said %s", status, i.status, tail(out.Bytes()), tail(said.Bytes()))
	}
	var got struct{ Result *inspected }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Result == nil {
		t.Fatalf("it printed no result: %v\n%s", err, tail(out.Bytes()))
	}
	i.holds(t, *got.Result)
}
