package satellite

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// Types of a block.
const (
	BlockText = "text"
	BlockJSON = "json"
)

// Block is one piece of a tool's outcome. Body is text, or a JSON document that
// was checked to be one. It is the extension's: escape it for a terminal.
type Block struct {
	Type string
	Body []byte
}

// ToolOutcome is what a tool answered.
type ToolOutcome struct {
	Content   []Block
	Terminate bool // the run is to end
}

// ToolCall is the call of a tool. The arguments are JSON text and go to the tool
// byte for byte. What it is answered with is read by [Outcome].
func ToolCall(name string, args []byte, strand string) Invocation {
	return Invocation{
		Kind: wire.CallTool, Name: name,
		Args: wire.Map(wire.Field{Key: "args", Value: wire.Text(args)}, wire.Field{Key: "strand", Value: wire.String(strand)}),
	}
}

// EventCall is the call of a hook with a JSON document. What it is answered with is
// read by [Document].
func EventCall(name string, document []byte) Invocation {
	return Invocation{Kind: wire.CallEvent, Name: name, Args: wire.Text(document)}
}

// Tool is Invoke of a [ToolCall], with the outcome read. An outcome of the wrong
// shape is an error of code protocol; the satellite lives, for the frame was well
// formed.
func (s *Satellite) Tool(ctx context.Context, name string, args []byte, strand string, deadline time.Duration) (ToolOutcome, error) {
	call := ToolCall(name, args, strand)
	call.Deadline = deadline
	v, err := s.Invoke(ctx, call)
	if err != nil {
		return ToolOutcome{}, err
	}
	return Outcome(v)
}

// Document is what a hook answered, checked to be JSON.
func Document(v wire.Value) ([]byte, error) {
	answer, ok := v.AsText()
	if !ok || !json.Valid(answer) {
		return nil, misshapen("the answer to an event is not a JSON document")
	}
	return answer, nil
}

func misshapen(what string) error { return minted(wire.CodeProtocol, what) }

// maxTypeNamed is how much of a foreign type a message repeats.
const maxTypeNamed = 64

// typeOf names a block's type in a message.
func typeOf(kind wire.Value) string {
	name, ok := kind.AsString()
	switch {
	case !ok:
		return "of no type"
	case len(name) > maxTypeNamed:
		return "of type " + strconv.QuoteToASCII(name[:maxTypeNamed]) + "…"
	}
	return "of type " + strconv.QuoteToASCII(name)
}

// Outcome is what a tool answered, {content: [block…], terminate: bool}.
func Outcome(v wire.Value) (ToolOutcome, error) {
	content, _ := v.Get("content")
	list, ok := content.AsList()
	if !ok {
		return ToolOutcome{}, misshapen("a tool's outcome has no list of content")
	}
	end, _ := v.Get("terminate")
	terminate, ok := end.AsBool()
	if !ok {
		return ToolOutcome{}, misshapen("a tool's outcome does not say whether to terminate")
	}
	blocks := make([]Block, len(list))
	for i, b := range list {
		kind, _ := b.Get("type")
		name, _ := kind.AsText()
		switch string(name) {
		case BlockText:
			blocks[i].Type = BlockText
		case BlockJSON:
			blocks[i].Type = BlockJSON
		default:
			return ToolOutcome{}, misshapen("block " + strconv.Itoa(i) + " of a tool's outcome is " + typeOf(kind) + ", neither text nor json")
		}
		body, _ := b.Get(blocks[i].Type)
		if blocks[i].Body, ok = body.AsText(); !ok {
			return ToolOutcome{}, misshapen("block " + strconv.Itoa(i) + " of a tool's outcome is of type " + blocks[i].Type + " and has no text under that key")
		}
		if blocks[i].Type == BlockJSON && !json.Valid(blocks[i].Body) {
			return ToolOutcome{}, misshapen("block " + strconv.Itoa(i) + " of a tool's outcome is of type json and holds no JSON")
		}
	}
	return ToolOutcome{Content: blocks, Terminate: terminate}, nil
}
