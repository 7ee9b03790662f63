//lint:file-ignore SA1019 the SDK marks what the protocol gives a year's notice of; clients use it until then

package mcp

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lastWithHandshake is the last revision whose clients begin with initialize.
const lastWithHandshake = "2025-11-25"

// guard goes around every request of a client.
func (b *Bridge) guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
		defer func() {
			if r := recover(); r != nil {
				b.logger.Error("a fault of loomext's own in answer to a request", "method", method, "fault", fmt.Sprint(r), "stack", string(debug.Stack()))
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "a fault of loomext's own; its log has more"}
			}
		}()
		if err := b.judge(req); err != nil {
			return nil, err
		}
		result, err = next(ctx, method, req)
		if err != nil {
			return nil, codedAs(method, err)
		}
		if list, ok := result.(*sdk.ListToolsResult); ok && list != nil {
			result = b.listed(list)
		}
		if err := encodable(result); err != nil {
			b.logger.Error("an answer cannot be written as JSON", "method", method, "error", err)
			return nil, unwritable()
		}
		return result, nil
	}
}

// levels are those of a client's log.
var levels = []sdk.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// judge refuses what the SDK would take, and mends what it would misread.
func (b *Bridge) judge(req sdk.Request) error {
	switch p := req.GetParams().(type) {
	case *sdk.InitializeParams:
		// The handshake never speaks the stateless revision, and the SDK goes by what was
		// asked for.
		if p != nil && p.ProtocolVersion >= statelessSince {
			p.ProtocolVersion = lastWithHandshake
		}
	case *sdk.SetLoggingLevelParams:
		if p == nil || !slices.Contains(levels, p.Level) {
			return rpcError(jsonrpc.CodeInvalidParams, fmt.Sprintf("level is one of %s", within(texts(levels), ", ", maxTold)), nil)
		}
	case *sdk.CallToolParamsRaw:
		if p != nil {
			return b.unknown(p.Name)
		}
	}
	return nil
}

func texts[T ~string](all []T) []string {
	list := make([]string, len(all))
	for i, one := range all {
		list[i] = string(one)
	}
	return list
}

// unknown is the error of a call of no tool, or nil where there is one of that name. A name that two
// extensions have for a tool is served as none: there are the longer ones.
func (b *Bridge) unknown(name string) error {
	b.catalog.mu.Lock()
	tools := b.catalog.tools
	b.catalog.mu.Unlock() // it does not change; there is another
	if _, ok := tools[name]; ok {
		return nil
	}
	var longer []string
	for served := range tools {
		if name != "" && strings.HasSuffix(served, qualified("", name)) {
			longer = append(longer, served)
		}
	}
	slices.Sort(longer)
	message := fmt.Sprintf("unknown tool %q", bounded(name, maxWords))
	if len(longer) > 0 {
		message += "; more than one extension has a tool of that name: call " + within(longer, " or ", maxWords)
	}
	return rpcError(jsonrpc.CodeInvalidParams, message, nil)
}

// codedAs is an error with a code of JSON-RPC: the SDK has some without.
func codedAs(method string, err error) error {
	var coded *jsonrpc.Error
	switch {
	case errors.As(err, &coded) && coded.Code != 0:
		return err
	case method == "initialize":
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "initialize was answered before; a session has one"}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}
