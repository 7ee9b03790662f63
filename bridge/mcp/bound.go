package mcp

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxResult is the size of a result as it is sent, in bytes: common clients read a
	// message of 16 MiB at most. It is the size of the JSON, in which some characters take six
	// bytes: the SDK has its marshalers escape those of HTML too.
	maxResult = 12 << 20
	// maxDepth is how deep a document nests that is sent as structured content, as deep as
	// arguments may. Clients that read deeper ones than they like end their connection.
	maxDepth = 64
	// maxTold is how much a client is told of a failure, in bytes: it goes before its model.
	maxTold = 64 << 10
	// maxWords is how much of what a satellite wrote before it failed goes with that, in bytes:
	// what it panicked with, and not the stack.
	maxWords = 1 << 10
	// blockBytes is what a block of a result takes beside its text, and partBytes beside its
	// data, which has a URI, a name and a type.
	blockBytes = 32
	partBytes  = 1 << 10
)

// textSize is how many bytes a text has as JSON.
func textSize(text []byte) int {
	n := 2
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
			n += 2
		case c < ' ' || c == '<' || c == '>' || c == '&':
			n += 6
		case c < utf8.RuneSelf:
			n++
		default:
			r, size := utf8.DecodeRune(text[i:])
			if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
				n += 6
			} else {
				n += size
			}
			i += size
			continue
		}
		i++
	}
	return n
}

// documentSize is how many bytes a JSON document has within another, at most.
func documentSize(document []byte) int {
	n := len(document)
	for _, c := range document {
		switch c {
		case '<', '>', '&':
			n += 5
		case 0xe2: // where the two separators of lines begin
			n += 3
		}
	}
	return n
}

// blobSize is how many bytes data has in base 64.
func blobSize(n int64) int64 { return (n + 2) / 3 * 4 }

// deeper reports whether valid JSON nests deeper than that.
func deeper(document []byte, most int) bool {
	depth, within := 0, false
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case within && c == '\\':
			i++
		case c == '"':
			within = !within
		case within:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// tooLarge says of an answer that it cannot be sent, and how large it is.
func tooLarge(what string, size, sent int) string {
	return fmt.Sprintf("%s has %s, %s as it would be sent, and %s can be sent. Ask for less at once.", what, sizeOf(size), sizeOf(sent), sizeOf(maxResult))
}

// sizeOf is a number of bytes for people.
func sizeOf(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// bounded is a text of at most that many bytes, which says so where it was longer.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + fmt.Sprintf("… (%s more)", sizeOf(len(text)-end))
}

// codeTooLarge is the code of an answer that cannot be sent.
const codeTooLarge = "too_large"

// oversize is the size of the blocks of an outcome where they cannot be sent: as they are, and as
// they would be.
func oversize(a answer) (size, sent int, over bool) {
	for _, block := range a.outcome.Content {
		size += len(block.Body)
		sent += textSize(block.Body) + blockBytes
	}
	return size, sent, sent > maxResult
}

// resultOf is the result of a tool that has answered. What is too large to be sent is left out where a client
// has it otherwise, and is an error where it has not.
func resultOf(c call, a answer) *sdk.CallToolResult {
	size, sent, over := oversize(a)
	if over {
		result := &sdk.CallToolResult{IsError: true, Meta: sdk.Meta{metaCode: codeTooLarge, metaExtension: c.extension}}
		result.Content = append(result.Content, &sdk.TextContent{Text: "The tool has answered, and the answer cannot be sent. " + tooLarge("It", size, sent)})
		result.Content = append(result.Content, emittedBlocks(a.emitted, partBytes)...)
		return result
	}
	result := &sdk.CallToolResult{Content: outcomeBlocks(a.outcome)}
	if document := structured(a.outcome, c.client.stateless); document != nil && sent+documentSize(document) <= maxResult {
		sent += documentSize(document)
		result.StructuredContent = document
	}
	result.Content = append(result.Content, emittedBlocks(a.emitted, sent)...)
	return result
}

// emittedBlocks are artifacts as blocks of a result that has so many bytes already. What does
// not go into it any more is a link.
func emittedBlocks(emitted []emission, sent int) []sdk.Content {
	var all []sdk.Content
	for _, e := range emitted {
		if size := e.sent(); e.inline && sent+size > maxResult {
			e.inline = false
		} else if e.inline {
			sent += size
		}
		all = append(all, e.block())
	}
	return all
}

// sent is how many bytes an artifact has within a result.
func (e emission) sent() int {
	if isText(e.contentType) && utf8.Valid(e.data) {
		return textSize(e.data) + partBytes
	}
	return int(blobSize(int64(len(e.data)))) + partBytes
}

// encodable is an error where a result holds JSON of an extension's that cannot be written within
// another. The SDK would leave the request without an answer.
func encodable(result sdk.Result) error {
	var foreign any
	switch r := result.(type) {
	case *sdk.CallToolResult:
		foreign = []any{r.StructuredContent, r.InputRequests, r.Meta}
	case *sdk.GetPromptResult:
		foreign = r.InputRequests
	case *sdk.ReadResourceResult:
		foreign = r.InputRequests
	default:
		return nil
	}
	_, err := json.Marshal(foreign)
	return err
}

// fitting refuses contents that cannot be sent.
func fitting(what string, size, sent int) error {
	if sent <= maxResult {
		return nil
	}
	return rpcError(jsonrpc.CodeInternalError, tooLarge(what, size, sent), map[string]any{metaCode: codeTooLarge})
}

// sizesOf are those of contents: as they are, and as they would be sent.
func sizesOf(contents []*sdk.ResourceContents) (size, sent int) {
	for _, c := range contents {
		size += len(c.Text) + len(c.Blob)
		sent += textSize([]byte(c.Text)) + int(blobSize(int64(len(c.Blob)))) + partBytes
	}
	return size, sent
}

// tooLargeArtifact is the answer to whoever reads an artifact that cannot be sent.
func tooLargeArtifact(id string, size int64) error {
	return rpcError(jsonrpc.CodeInternalError,
		fmt.Sprintf("the artifact has %s, and %s can be sent; `loomext artifacts %s` writes it to a file", sizeOf(int(size)), sizeOf(maxResult), id),
		map[string]any{metaCode: codeTooLarge})
}
