package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The errors of JSON-RPC for a line that is no message, or none that can be served.
const (
	noJSON    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is not one JSON value; send one message a line"}}` + "\n"
	noMessage = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is no message of JSON-RPC 2.0"}}` + "\n"
	tooLong   = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is longer than a message may be"}}` + "\n"
	someBatch = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not served; send one message a line"}}` + "\n"
	badID     = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"` + badIDText + `"}}` + "\n"
	sameID    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"` + sameIDText + `"}}` + "\n"

	badIDText  = "the id of a message is a string, or an integer of at most 2^53; nothing else comes back as it was"
	sameIDText = "a request has the id of one that is still open; nobody could tell their answers apart"
)

// maxID is the largest number that every reader of JSON keeps.
const maxID = 1 << 53

// readLine reads a line without its end, and of one that is too long nothing but
// that it was. An error comes with what there was before it.
func readLine(in *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = append(line[:0], '\n') // no message, and not empty
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if !long {
				line = bytes.TrimSpace(line)
			}
			return line, err
		}
	}
}

// parseLine is the message of a line, or what it is answered with. It is neither for the
// error of a client that could not read one of ours: an answer to it would be answered again.
func parseLine(line []byte) (jsonrpc.Message, string) {
	if line[0] == '\n' {
		return nil, tooLong
	}
	var head struct{ ID, Method, Error json.RawMessage } // a map of all costs more than the rest
	err := json.Unmarshal(line, &head)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, noJSON
	case line[0] == '[':
		return nil, someBatch
	case err != nil || line[0] != '{':
		return nil, noMessage
	}
	if head.Error != nil && head.Method == nil && (head.ID == nil || string(head.ID) == "null") {
		return nil, ""
	}
	if head.ID != nil && !isID(head.ID) {
		return nil, badID
	}
	message, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, noMessage
	}
	return message, ""
}

// isID reports whether an id comes back as it was sent.
func isID(id json.RawMessage) bool {
	if len(id) > 0 && id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && n >= -maxID && n <= maxID
}

// callOf is the id of the call that the body of a request over HTTP is, as it is written, or
// empty for what is none; and the error where it would not come back as it was. All else is for the SDK
// to judge.
func callOf(body []byte) (id, refusal string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return "", ""
	}
	raw, there := fields["id"]
	if there && !isID(raw) {
		return "", badID
	}
	if _, requests := fields["method"]; !requests {
		return "", ""
	}
	return string(raw), ""
}
