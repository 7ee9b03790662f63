package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxLine is the longest message of a client, in bytes: the largest arguments
	// there are, or an answer of a model with what it was asked.
	maxLine = 16 << 20
	// parting is what calls have that are open when the client has closed its side.
	// A client that waits for their answers gets them; one that is gone needs none.
	parting = 5 * time.Second
)

// listening is the call that is open for as long as its client is there. The client that
// has closed its side does not wait for its end.
const listening = "subscriptions/listen"

// The errors of JSON-RPC for a line that is no message.
const (
	noJSON    = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the line is no JSON; send one message a line"}}` + "\n"
	noMessage = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is no message of JSON-RPC 2.0"}}` + "\n"
	tooLong   = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the line is longer than a message may be"}}` + "\n"
	someBatch = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not served; send one message a line"}}` + "\n"
)

// Lines is the transport of a client that started this program: one message a line.
// A line that is no message is answered with an error and ends nothing, and what
// the client has asked for is answered though it has closed its side.
type Lines struct {
	// In is what the client writes. The transport ends with it; where a Read can wait
	// for long, it has to end when the connection is to.
	In io.Reader
	// Out is what the client reads, and nothing else may write there.
	Out io.Writer
}

// Connect begins to read. It is called once.
func (t *Lines) Connect(context.Context) (sdk.Connection, error) {
	c := &lines{
		out: t.Out, received: make(chan jsonrpc.Message), ended: make(chan struct{}), closed: make(chan struct{}),
		open: map[jsonrpc.ID]struct{}{}, none: make(chan struct{}),
	}
	go c.read(bufio.NewReaderSize(t.In, 64<<10))
	return c, nil
}

// lines is the connection of [Lines].
type lines struct {
	writing sync.Mutex
	out     io.Writer

	received chan jsonrpc.Message
	ended    chan struct{} // when the client has closed its side
	err      error         // why, once it has
	closing  sync.Once
	closed   chan struct{}

	mu     sync.Mutex
	open   map[jsonrpc.ID]struct{} // calls that are not answered
	parted bool                    // nothing more is received
	none   chan struct{}           // closed when nothing is, and no call is open
}

func (c *lines) SessionID() string { return "" }

// Read gives the next message.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case message := <-c.received:
		return message, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.closed:
		return nil, io.EOF
	case <-c.ended:
	}
	c.part()
	timer := time.NewTimer(parting)
	defer timer.Stop()
	select {
	case <-c.none:
	case <-timer.C:
	case <-c.closed:
	}
	return nil, c.err
}

// Write sends a message.
func (c *lines) Write(_ context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	err = c.put(append(data, '\n'))
	if response, ok := message.(*jsonrpc.Response); ok {
		c.answered(response.ID)
	}
	return err
}

func (c *lines) put(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(line)
	return err
}

// Close ends the connection. What was given as In and Out is its owner's.
func (c *lines) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

// read takes lines until the client has closed its side, or the connection is
// closed.
func (c *lines) read(in *bufio.Reader) {
	defer close(c.ended)
	for {
		line, err := readLine(in)
		if len(line) > 0 {
			message, refusal := parseLine(line)
			if refusal != "" {
				if err := c.put([]byte(refusal)); err != nil {
					c.err = err
					return
				}
			} else if !c.deliver(message) {
				c.err = io.EOF
				return
			}
		}
		if err != nil {
			c.err = err
			return
		}
	}
}

// deliver hands a message to the reader of the connection.
func (c *lines) deliver(message jsonrpc.Message) bool {
	if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() && request.Method != listening {
		c.mu.Lock()
		c.open[request.ID] = struct{}{}
		c.mu.Unlock()
	}
	select {
	case c.received <- message:
		return true
	case <-c.closed:
		return false
	}
}

func (c *lines) answered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.open[id]; !ok {
		return
	}
	if delete(c.open, id); c.parted && len(c.open) == 0 {
		close(c.none)
	}
}

// part notes that nothing more is received.
func (c *lines) part() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.parted && len(c.open) == 0 {
		close(c.none)
	}
	c.parted = true
}

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

// parseLine is the message of a line, or what it is answered with.
func parseLine(line []byte) (jsonrpc.Message, string) {
	if line[0] == '\n' {
		return nil, tooLong
	}
	message, err := jsonrpc.DecodeMessage(line)
	switch {
	case err == nil:
		return message, ""
	case !json.Valid(line):
		return nil, noJSON
	case line[0] == '[':
		return nil, someBatch
	}
	return nil, noMessage
}
