package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/manifest"
)

// maxCompletions is how many values the protocol lets one answer have.
const maxCompletions = 100

// complete offers the values that a schema names for an argument.
func (b *Bridge) complete(_ context.Context, req *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	arguments, err := b.argumentsOf(req.Params.Ref)
	if err != nil {
		return nil, err
	}
	result := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	for _, a := range arguments {
		if a.Name != req.Params.Argument.Name {
			continue
		}
		for _, value := range a.Enum {
			if !strings.HasPrefix(value, req.Params.Argument.Value) {
				continue
			}
			result.Completion.Total++
			if len(result.Completion.Values) < maxCompletions {
				result.Completion.Values = append(result.Completion.Values, value)
			}
		}
		result.Completion.HasMore = result.Completion.Total > len(result.Completion.Values)
		return result, nil
	}
	return nil, rpcError(jsonrpc.CodeInvalidParams, fmt.Sprintf("there is no argument %q", req.Params.Argument.Name), nil)
}

// argumentsOf are those of a prompt or of a resource's template.
func (b *Bridge) argumentsOf(ref *sdk.CompleteReference) ([]manifest.Argument, error) {
	b.catalog.mu.Lock()
	list, name := b.catalog.prompts, ref.Name
	if ref.Type == "ref/resource" {
		list, name = b.catalog.patterns, ref.URI
	}
	b.catalog.mu.Unlock() // no list changes; there is another
	if f, ok := list[name]; ok {
		return f.arguments, nil
	}
	return nil, rpcError(jsonrpc.CodeInvalidParams, fmt.Sprintf("there is no %s %q", strings.TrimPrefix(ref.Type, "ref/"), name), nil)
}
