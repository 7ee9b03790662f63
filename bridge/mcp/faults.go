package mcp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
)

// The keys in _meta, and in the data of an error, that are loomext's.
const (
	// metaCode is what kind of failure it was: one of the protocol's codes, or the
	// extension's own.
	metaCode = "loomext/code"
	// metaExtension is whose it was.
	metaExtension = "loomext/extension"
	// metaFaults are what is wrong with the arguments, each with its JSON pointer.
	metaFaults = "loomext/faults"
	// metaName is the name that an extension gave an artifact.
	metaName = "loomext/name"
)

// told is what a model is told in place of an outcome. The words of a refusal are the
// extension's alone; all else says what happened and what to do.
func told(e *host.Error) string {
	switch e.Kind {
	case host.Refused, host.Arguments, host.Unhandled, host.Unrecorded:
		return e.Reply()
	case host.Crashed:
		return crash(e)
	case host.Deadline:
		return fmt.Sprintf("The tool failed: %s did not answer in time: %s\nAsk for less at once, or again.", e.Extension, e.Msg)
	case host.Cancelled:
		return "The tool did not end: the call was cancelled."
	case host.Busy:
		return fmt.Sprintf("The tool was not called: %s\nAsk again later.", e.Msg)
	case host.Gone:
		return fmt.Sprintf("The tool was not called: %s is not there: %s", e.Extension, goneBecause(e))
	}
	return fmt.Sprintf("The tool failed: %s broke the protocol: %s\n`loomext logs %s` shows its last words.", e.Extension, e.Msg, e.Extension)
}

// goneBecause is why there is nothing to call. What is wrong on this machine is for its
// operator: the reasons name paths.
func goneBecause(e *host.Error) string {
	switch {
	case errors.Is(e, install.ErrNotInstalled):
		return "it was removed. List the tools again."
	case errors.Is(e, host.ErrClosed), errors.Is(e, errClosed):
		return "the session is over."
	}
	return fmt.Sprintf("it ended too often, or could not be started. `loomext verify %s` and `loomext logs %s` say why.", e.Extension, e.Extension)
}

// about is what programs are told of a failure.
func about(e *host.Error) map[string]any {
	meta := map[string]any{metaCode: e.Code, metaExtension: e.Extension}
	if len(e.Faults) > 0 {
		meta[metaFaults] = e.Faults
	}
	return meta
}

// failed is the result of a tool that failed.
func failed(e *host.Error) *sdk.CallToolResult {
	return &sdk.CallToolResult{Meta: about(e), Content: []sdk.Content{&sdk.TextContent{Text: bounded(told(e), maxTold)}}, IsError: true}
}

// refused is a failure where the protocol has no result for it: of a prompt or of a
// resource. Arguments that are at fault are told apart by their code.
func refused(err error) error {
	e, ok := failureOf(err)
	if !ok {
		return err
	}
	code := int64(jsonrpc.CodeInternalError)
	if e.Kind == host.Arguments || e.Kind == host.Unhandled {
		code = jsonrpc.CodeInvalidParams
	}
	return rpcError(code, bounded(told(e), maxTold), about(e))
}

// rpcError is an error of JSON-RPC.
func rpcError(code int64, message string, data any) error {
	text, err := json.Marshal(data)
	if err != nil || data == nil {
		text = nil
	}
	return &jsonrpc.Error{Code: code, Message: message, Data: text}
}
