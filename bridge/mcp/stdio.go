package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
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

// Lines is the transport of a client that started this program: one message a line.
// A line that is no message is answered with an error and ends nothing, and what
// the client has asked for is answered though it has closed its side.
//
// What a client may have open, and what is read ahead of it, is bounded. Beyond that no line is
// taken until an answer is. What cancels a call and what answers a question of ours
// overtakes calls that wait.
type Lines struct {
	// In is what the client writes. The transport ends with it; where a Read can wait
	// for long, it has to end when the connection is to. Where it has a method HungUp, that
	// says whether the client has closed its side though not all of it is read.
	In io.Reader
	// Out is what the client reads, and nothing else may write there.
	Out io.Writer
	// Logger is told of answers that could not be sent as they were. Nil logs nothing.
	Logger *slog.Logger

	connection *lines
	stall      time.Duration // in place of [stallTime], for the tests alone
}

// Connect begins to read. It is called once.
func (t *Lines) Connect(context.Context) (sdk.Connection, error) {
	c := &lines{
		out: t.Out, logger: t.Logger, stall: t.stall,
		ended: make(chan struct{}), over: make(chan struct{}), closed: make(chan struct{}),
	}
	if in, ok := t.In.(interface{ HungUp() bool }); ok {
		c.hungUp = in.HungUp
	}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if c.stall == 0 {
		c.stall = stallTime
	}
	c.queue = newQueue()
	t.connection = c
	go c.read(bufio.NewReaderSize(t.In, 64<<10))
	go c.refuse()
	go c.part()
	return c, nil
}

// lines is the connection of [Lines].
type lines struct {
	logger  *slog.Logger
	stall   time.Duration
	writing sync.Mutex
	out     io.Writer
	since   atomic.Pointer[time.Time] // when the line began that is being written; nil where none is

	queue   *queue
	hungUp  func() bool   // whether the client has closed its side, before that is read; nil where that cannot be known
	left    bool          // it had, and reads nothing
	ended   chan struct{} // closed when nothing more is read
	err     error         // why, once it is
	over    chan struct{} // closed when what was read is answered after that, or had its time
	closing sync.Once
	closed  chan struct{}
}

func (c *lines) SessionID() string { return "" }

// Read gives the next message.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	defer context.AfterFunc(ctx, c.queue.wake)()
	if message, ok := c.queue.next(ctx); ok {
		return message, nil
	}
	select {
	case <-c.over:
		return nil, c.err
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// Write sends a message. An answer that cannot be written as JSON is one all the same:
// an error, for whoever waits for it.
func (c *lines) Write(_ context.Context, message jsonrpc.Message) error {
	response, answers := message.(*jsonrpc.Response)
	if answers {
		message = coded(response)
	}
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil && answers {
		c.logger.Error("an answer cannot be written as JSON", "id", response.ID.Raw(), "error", err)
		data, err = jsonrpc.EncodeMessage(&jsonrpc.Response{ID: response.ID, Error: unwritable()})
	}
	if err != nil {
		return err
	}
	if answers {
		defer c.queue.answer(response.ID, len(data))()
	}
	return c.put(append(data, '\n'))
}

// unwritable is the answer in place of one that is no JSON.
func unwritable() error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer cannot be written as JSON; the log of loomext has more"}
}

// early is how the SDK refuses what comes before a session is there, without a code.
const early = "is invalid during session initialization"

// coded is an answer whose error has a code of JSON-RPC: the SDK has some without.
func coded(response *jsonrpc.Response) *jsonrpc.Response {
	var e *jsonrpc.Error
	if response.Error == nil || errors.As(response.Error, &e) {
		return response
	}
	e = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: response.Error.Error()}
	if strings.Contains(e.Message, early) {
		e = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "there is no session yet; send initialize first"}
	}
	return &jsonrpc.Response{ID: response.ID, Error: e}
}

func (c *lines) put(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	now := time.Now()
	c.since.Store(&now)
	_, err := c.out.Write(line)
	c.since.Store(nil)
	return err
}

// stuck reports whether a line is being written that the client has not taken for that long.
func (c *lines) stuck(long time.Duration) bool {
	since := c.since.Load()
	return since != nil && time.Since(*since) >= long
}

// lasted is closed when the client has closed its side and what it asked for is answered, or has
// had its time. It never is for another transport.
func lasted(t sdk.Transport) <-chan struct{} {
	if t, ok := t.(*Lines); ok {
		return t.connection.over
	}
	return nil
}

// unread reports whether the client of a transport reads nothing any more.
func unread(t sdk.Transport) bool {
	l, ok := t.(*Lines)
	return ok && l.connection.stuck(closeWithin)
}

// Close ends the connection. What was given as In and Out is its owner's.
func (c *lines) Close() error {
	c.closing.Do(func() {
		close(c.closed)
		c.queue.close()
	})
	return nil
}

// read takes lines until the client has closed its side, or the connection is
// closed.
func (c *lines) read(in *bufio.Reader) {
	defer close(c.ended)
	for {
		line, err := readLine(in)
		if len(line) > 0 {
			if failed := c.take(line); failed != nil {
				c.err = failed
				return
			}
		}
		if err != nil {
			c.err = err
			return
		}
	}
}

// errStalled is why a connection ends whose client asks for more and reads no answers.
var errStalled = errors.New("the client sends requests and does not read their answers")

// take queues what a line is: a message, or a refusal of it.
func (c *lines) take(line []byte) error {
	for !c.queue.hasRoom() {
		switch {
		case c.queue.awaitRoom(lookTime):
		case c.queue.isClosed():
			return io.EOF
		case c.hungUp != nil && c.stuck(parting) && c.hungUp():
			c.left = true // what is still in the pipe is nobody's
			return io.EOF
		case c.stuck(c.stall):
			return errStalled
		}
	}
	message, refusal := parseLine(line)
	switch {
	case refusal != "":
		c.queue.refuse(refusal)
	case message != nil:
		c.queue.add(message, len(line))
	}
	return nil
}

// refuse answers the lines that are no messages.
func (c *lines) refuse() {
	for {
		line, ok := c.queue.nextRefusal()
		if !ok {
			return
		}
		if c.put([]byte(line)) != nil {
			c.logger.Debug("a refusal was not sent: the client is gone")
		}
		c.queue.refused(line)
	}
}

// part waits for the end of the input, and then until everything is answered.
func (c *lines) part() {
	select {
	case <-c.ended:
	case <-c.closed:
		return
	}
	most := parting
	if c.left {
		most = 0 // it had that time
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-c.queue.settle():
	case <-timer.C:
	case <-c.closed:
		return
	}
	close(c.over)
	c.queue.close()
}
