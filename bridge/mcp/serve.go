//lint:file-ignore SA1019 the SDK marks what the protocol gives a year's notice of; clients use it until then

package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/manifest"
)

// listFresh is how long a client may take a list for current without asking, in
// milliseconds: as long as a change may take to be told.
const listFresh = 1000

func (b *Bridge) serverOptions(records []install.Record) *sdk.ServerOptions {
	return &sdk.ServerOptions{
		Instructions: instructions(records, b.choice),
		// All of it from the start: what is installed later is told of as well.
		Capabilities: &sdk.ServerCapabilities{
			Logging:     &sdk.LoggingCapabilities{},
			Completions: &sdk.CompletionCapabilities{},
			Tools:       &sdk.ToolCapabilities{ListChanged: true},
			Prompts:     &sdk.PromptCapabilities{ListChanged: true},
			Resources:   &sdk.ResourceCapabilities{ListChanged: true, Subscribe: true},
		},
		CompletionHandler:  b.complete,
		SubscribeHandler:   b.subscribe,
		UnsubscribeHandler: b.unsubscribe,
		SetCacheable: func(_ context.Context, req sdk.Request, c *sdk.Cacheable) {
			c.CacheScope = "private" // it is of one operator's extensions
			if _, read := req.GetParams().(*sdk.ReadResourceParams); !read {
				c.TTLMs = listFresh
			}
		},
	}
}

func (b *Bridge) toolHandler(extension, tool string) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c := call{
			client: clientOf(req), method: "tools/call", extension: extension, tool: tool,
			args: req.Params.Arguments, responses: req.Params.InputResponses, state: req.Params.RequestState,
		}
		a, err := b.call(ctx, c)
		if e, ok := failureOf(err); ok {
			return failed(e), nil
		}
		if err != nil {
			return nil, err
		}
		if a.asks != nil { // no content, but its field: clients take null for a fault
			return &sdk.CallToolResult{Content: []sdk.Content{}, InputRequests: a.asks, RequestState: a.state}, nil
		}
		b.keep(extension, a.emitted)
		return resultOf(c, a), nil
	}
}

func (b *Bridge) promptHandler(extension, tool, description string, arguments []manifest.Argument) sdk.PromptHandler {
	return func(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		a, err := b.call(ctx, call{
			client: clientOf(req), method: "prompts/get", extension: extension, tool: tool,
			args: argumentsOf(req.Params.Arguments, arguments), responses: req.Params.InputResponses, state: req.Params.RequestState,
		})
		if err != nil {
			return nil, refused(err)
		}
		if a.asks != nil {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{}, InputRequests: a.asks, RequestState: a.state}, nil
		}
		b.keep(extension, a.emitted)
		size, sent, _ := oversize(a)
		if err := fitting("The prompt", size, sent); err != nil {
			return nil, err
		}
		result := &sdk.GetPromptResult{Description: description, Messages: []*sdk.PromptMessage{}}
		for _, block := range append(outcomeBlocks(a.outcome), emittedBlocks(a.emitted, sent)...) {
			result.Messages = append(result.Messages, &sdk.PromptMessage{Role: "user", Content: block})
		}
		return result, nil
	}
}

// argumentsOf makes a tool's arguments of texts. A name that the tool has no argument of
// is left for the schema to judge.
func argumentsOf(texts map[string]string, arguments []manifest.Argument) json.RawMessage {
	values := map[string]json.RawMessage{}
	for name, text := range texts {
		argument := manifest.Argument{Name: name}
		for _, a := range arguments {
			if a.Name == name {
				argument = a
			}
		}
		values[name] = argument.Value(text)
	}
	args, err := json.Marshal(values)
	if err != nil {
		return json.RawMessage("{}") // unreachable: every value is JSON
	}
	return args
}

func (b *Bridge) resourceHandler(extension string, uri manifest.ResourceURI, r install.RecordResource, arguments []manifest.Argument) sdk.ResourceHandler {
	return func(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		values, ok := uri.Values(req.Params.URI)
		if !ok {
			return nil, sdk.ResourceNotFoundError(req.Params.URI)
		}
		a, err := b.call(ctx, call{
			client: clientOf(req), method: "resources/read", extension: extension, tool: r.Tool,
			args: argumentsOf(values, arguments), responses: req.Params.InputResponses, state: req.Params.RequestState,
		})
		if err != nil {
			return nil, refused(err)
		}
		if a.asks != nil {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{}, InputRequests: a.asks, RequestState: a.state}, nil
		}
		return b.read(req.Params.URI, r.MIMEType, a)
	}
}

// read is an answer as the contents of a resource: its blocks under the type that the
// resource declares, and what was emitted under its own. A block without text is none.
func (b *Bridge) read(uri, mimeType string, a answer) (*sdk.ReadResourceResult, error) {
	result := &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{}}
	for _, block := range a.outcome.Content {
		if len(block.Body) == 0 && len(a.emitted) > 0 {
			continue
		}
		contents := &sdk.ResourceContents{URI: uri, MIMEType: mimeType, Text: string(block.Body)}
		if block.Type == host.BlockJSON && !strings.Contains(mediaType(mimeType), "json") {
			contents.MIMEType = "application/json"
		}
		if len(block.Body) == 0 {
			contents.Blob = []byte{} // a field has to be there
		}
		result.Contents = append(result.Contents, contents)
	}
	for _, e := range a.emitted {
		data := e.data
		if !e.inline {
			if e.size > maxResult {
				return nil, tooLargeArtifact(e.id, e.size)
			}
			var err error
			if data, err = b.artifact(e.id); err != nil {
				return nil, rpcError(jsonrpc.CodeInternalError, "what the extension emitted is not there any more", nil)
			}
		}
		result.Contents = append(result.Contents, contentsOf(uri, e.contentType, data))
	}
	size, sent := sizesOf(result.Contents)
	if err := fitting("The resource", size, sent); err != nil {
		return nil, err
	}
	return result, nil
}
