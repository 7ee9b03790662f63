package runtime

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/cap/runtime"
	"github.com/loomext/loomext/prelude/ext"
	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// Answer answers one question from the tables. The tool or hook runs under the
// question's own context, on the caller's goroutine; if it panics, so does Answer.
func Answer(tools []NamedTool, hooks []Declared, asked Asked) Reply {
	switch asked.Invocation.Kind {
	case Tool:
		return answerTool(tools, asked)
	case Event:
		return answerEvent(hooks, asked)
	}
	return runtime.Failed(UnhandledCode, fmt.Sprintf("this satellite answers tools and events; %s %q is neither",
		asked.Invocation.Kind, asked.Invocation.Name))
}

func answerTool(tools []NamedTool, asked Asked) Reply {
	name := asked.Invocation.Name
	tool, served := find(tools, name)
	if !served {
		return runtime.Failed(UnknownToolCode, fmt.Sprintf("no tool %q is served here; served: %s", name, names(tools)))
	}
	if tool == nil {
		return runtime.Failed(UnknownToolCode, fmt.Sprintf("tool %q is in the table without a function; served: %s", name, names(tools)))
	}
	args, strand, err := toolArgs(asked.Args)
	if err != nil {
		return runtime.Failed(BadArgumentsCode, fmt.Sprintf("tool %q: %v", name, err))
	}
	ctx := asked.Context()
	outcome, err := tool(ext.Ctx{
		Context:    ctx,
		Strand:     strand,
		DeadlineMS: asked.DeadlineMS,
		Report:     func(text string) { report.Partial(ctx, text) },
	}, args)
	if err != nil {
		return runtime.Failed(RefusedCode, errorText(err))
	}
	value, err := outcomeValue(outcome)
	if err != nil {
		return runtime.Failed(runtime.Unencodable, fmt.Sprintf("tool %q: %v", name, err))
	}
	return runtime.Answered(value)
}

// find gives the tool of that name, and whether there is one.
func find(tools []NamedTool, name string) (ext.Tool, bool) {
	for i := range tools {
		if tools[i].Name == name {
			return tools[i].Tool, true
		}
	}
	return nil, false
}

// names is the sorted list of what is served, in a sentence.
func names(tools []NamedTool) string {
	list := make([]string, 0, len(tools))
	for _, t := range tools {
		if t.Tool != nil { // one without a function is served by nobody
			list = append(list, fmt.Sprintf("%q", t.Name))
		}
	}
	if len(list) == 0 {
		return "no tools"
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// toolArgs reads {args: text, strand: text}. The strand may be missing: it only says
// whom to name, and a tool can do without. The args may not.
func toolArgs(v report.Value) (args json.RawMessage, strand string, err error) {
	if _, ok := v.AsMap(); !ok {
		return nil, "", fmt.Errorf("the arguments are %s; want a map with args and strand", report.TypeName(v))
	}
	field, ok := v.Get("args")
	if !ok {
		return nil, "", fmt.Errorf("args is missing; want JSON text")
	}
	text, ok := field.AsText()
	if !ok {
		return nil, "", fmt.Errorf("args is %s; want JSON text", report.TypeName(field))
	}
	if err := jsontext.Check(text); err != nil {
		return nil, "", fmt.Errorf("args: %w", err)
	}
	if field, ok := v.Get("strand"); ok {
		if strand, ok = field.AsString(); !ok {
			return nil, "", fmt.Errorf("strand is %s; want text", report.TypeName(field))
		}
	}
	return text[:len(text):len(text)], strand, nil
}

// outcomeValue is {content, terminate}, each block with its payload as text. All its
// fields come out of one allocation: this is on every call's way.
func outcomeValue(o ext.Outcome) (report.Value, error) {
	n := len(o.Content)
	fields := make([]report.Field, 0, 2+2*n)
	blocks := make([]report.Value, 0, n)
	for i, c := range o.Content {
		switch c := c.(type) {
		case ext.TextContent:
			fields = append(fields, field("type", textType), field("text", report.String(c.Text)))
		case ext.JSONContent:
			if err := jsontext.Check(c.Value); err != nil {
				return report.Nil(), fmt.Errorf("content[%d] is a JSON block whose value is no JSON: %w", i, err)
			}
			fields = append(fields, field("type", jsonType), field("json", report.Text(c.Value)))
		default:
			return report.Nil(), fmt.Errorf("content[%d] is a %T; want an ext.TextContent or an ext.JSONContent", i, c)
		}
		blocks = append(blocks, report.Map(fields[2*i:]...))
	}
	fields = append(fields,
		field("content", report.List(blocks...)),
		field("terminate", report.Bool(o.Terminate == ext.TerminateRun)))
	return report.Map(fields[2*n:]...), nil
}

var (
	textType = report.String("text")
	jsonType = report.String("json")
)

func field(key string, v report.Value) report.Field { return report.Field{Key: key, Value: v} }

func answerEvent(hooks []Declared, asked Asked) Reply {
	name := asked.Invocation.Name
	i := slices.IndexFunc(hooks, func(d Declared) bool { return d.Event == name })
	if i < 0 {
		return runtime.Failed(UnhandledCode, fmt.Sprintf("this extension has no hook for %q", name))
	}
	declared := hooks[i].Hook
	if compiled := declared.Event(); compiled != name {
		return runtime.Failed(MismatchedHookCode, fmt.Sprintf("the manifest declares %q, and the hook compiled for it answers %q", name, compiled))
	}
	text, ok := asked.Args.AsText()
	if !ok {
		return runtime.Failed(BadArgumentsCode, fmt.Sprintf("event %q: the arguments are %s; want JSON text", name, report.TypeName(asked.Args)))
	}
	if err := jsontext.Check(text); err != nil {
		return runtime.Failed(BadArgumentsCode, fmt.Sprintf("event %q: %v", name, err))
	}
	answer, err := declared.Answer(asked.Context(), text[:len(text):len(text)])
	if err != nil {
		return runtime.Failed(RefusedCode, errorText(err))
	}
	if err := jsontext.Check(answer); err != nil {
		return runtime.Failed(runtime.Unencodable, fmt.Sprintf("event %q: the hook's answer is no JSON: %v", name, err))
	}
	return runtime.Answered(report.Text(answer))
}

// errorText is what an author's error says. One that cannot say it, as a nil pointer in
// an error often cannot, is a refusal all the same.
func errorText(err error) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("refused with a %T that has no text", err)
		}
	}()
	if text = err.Error(); text == "" {
		text = "refused, without a reason"
	}
	return text
}
