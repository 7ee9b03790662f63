package mcp

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxOpen is how many calls of a client are open at once, as over HTTP: of one that has
	// every tool work for it.
	maxOpen = 256
	// maxOpenBytes is what those calls are together, in bytes as they came: the SDK holds each
	// until it is answered.
	maxOpenBytes = 16 << 20
	// maxUnread is what there may be of answers that the client has not read, in bytes, for a
	// further call to be begun: a few of the largest.
	maxUnread = 32 << 20
	// maxAhead is what is read before it can be begun, in bytes: behind it may be the
	// cancellation of a call, or the answer to a question, that others wait for.
	maxAhead = 8 << 20
	// entryBytes is what a message takes beside its bytes.
	entryBytes = 512
	// stallTime is how long a client may read nothing while more than that is waiting: as long as
	// a part of an answer has over HTTP.
	stallTime = time.Minute
	// lookTime is how often it is looked whether a client that reads nothing is there.
	lookTime = time.Second
)

const cancelling = "notifications/cancelled"

// queue are the messages of a client that are not received yet, and what is known of those that
// are open.
type queue struct {
	mu      sync.Mutex
	arrived sync.Cond // there may be a message to receive
	unfit   sync.Cond // there is a refusal
	room    sync.Cond // there may be room for a line

	calls  []queued // in the order in which they came, and so are the others
	others []queued // notifications, and answers to questions of ours
	count  int64    // of what came
	ahead  int      // bytes of both, and of refusals
	handed bool     // a message is on its way to the receiver
	closed bool

	open      map[jsonrpc.ID]queued // calls that were received and have no answer
	queuedIDs map[jsonrpc.ID]bool   // calls that wait to be
	listens   int                   // of those that are open
	openBytes int
	answering int // answers that are being sent
	unread    int // their bytes
	refusals  []string
	refusing  int // those, and the one that is being sent

	settled chan struct{} // closed when nothing is left; nil until that matters
}

type queued struct {
	message jsonrpc.Message
	number  int64
	bytes   int
	listens bool
}

func newQueue() *queue {
	q := &queue{open: map[jsonrpc.ID]queued{}, queuedIDs: map[jsonrpc.ID]bool{}}
	q.arrived.L, q.unfit.L, q.room.L = &q.mu, &q.mu, &q.mu
	return q
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.arrived.Broadcast()
	q.unfit.Broadcast()
	q.room.Broadcast()
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// hasRoom reports whether another line may be taken in.
func (q *queue) hasRoom() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ahead < maxAhead && !q.closed
}

// awaitRoom waits until there is room, at most for that time, and reports whether there is.
func (q *queue) awaitRoom(most time.Duration) bool {
	late := false
	timer := time.AfterFunc(most, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		late = true
		q.room.Broadcast()
	})
	defer timer.Stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.ahead >= maxAhead && !q.closed && !late {
		q.room.Wait()
	}
	return q.ahead < maxAhead && !q.closed
}

// add takes a message in. The cancellation of a call that was not begun takes that
// call away, and is not passed on.
func (q *queue) add(message jsonrpc.Message, size int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.count++
	one := queued{message: message, number: q.count, bytes: size + entryBytes}
	request, _ := message.(*jsonrpc.Request)
	switch {
	case request != nil && request.IsCall():
		if _, open := q.open[request.ID]; open || q.queuedIDs[request.ID] {
			q.addRefusal(sameID)
			return
		}
		one.listens = request.Method == listening
		q.queuedIDs[request.ID] = true
		q.calls = append(q.calls, one)
	case request != nil && request.Method == cancelling && q.drop(request.Params):
		return
	default:
		q.others = append(q.others, one)
	}
	q.ahead += one.bytes
	q.arrived.Signal()
}

// wake has whoever waits for a message look again.
func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.arrived.Broadcast()
}

// drop takes away the call that is cancelled, if it waits here.
func (q *queue) drop(params json.RawMessage) bool {
	var cancelled struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(params, &cancelled) != nil {
		return false
	}
	id, err := jsonrpc.MakeID(cancelled.RequestID)
	if err != nil || !q.queuedIDs[id] {
		return false
	}
	for i, one := range q.calls {
		if one.message.(*jsonrpc.Request).ID != id {
			continue
		}
		q.calls = append(q.calls[:i:i], q.calls[i+1:]...)
		delete(q.queuedIDs, id)
		q.ahead -= one.bytes
		q.check()
		q.room.Broadcast()
		return true
	}
	return false
}

// next is the next message that may be received: the first that came, but that calls
// wait while too many are open. Who asks for it has handed on the one before.
func (q *queue) next(ctx context.Context) (jsonrpc.Message, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.handed = false
	q.check()
	for {
		if q.closed || ctx.Err() != nil {
			return nil, false
		}
		begin := len(q.calls) > 0 && q.begins()
		switch {
		case len(q.others) > 0 && (!begin || q.others[0].number < q.calls[0].number):
			one := q.others[0]
			q.others[0] = queued{}
			q.others = q.others[1:]
			q.ahead -= one.bytes
			q.handed = true
			q.room.Broadcast()
			return one.message, true
		case begin:
			one := q.calls[0]
			q.calls[0] = queued{}
			q.calls = q.calls[1:]
			q.ahead -= one.bytes
			id := one.message.(*jsonrpc.Request).ID
			delete(q.queuedIDs, id)
			q.open[id] = queued{bytes: one.bytes, listens: one.listens} // the message is its receiver's
			q.openBytes += one.bytes
			if one.listens {
				q.listens++
			}
			q.handed = true
			q.room.Broadcast()
			return one.message, true
		}
		q.arrived.Wait()
	}
}

// begins reports whether one more call may be open.
func (q *queue) begins() bool {
	return len(q.open)+q.answering < maxOpen && q.openBytes < maxOpenBytes && q.unread < maxUnread
}

// answer notes that a call is answered, and gives what is to be done when the answer is sent.
// From now on its id is free: the client may use it again as soon as it has read the answer.
func (q *queue) answer(id jsonrpc.ID, size int) (sent func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if one, ok := q.open[id]; ok {
		delete(q.open, id)
		q.openBytes -= one.bytes
		if one.listens {
			q.listens--
		}
	}
	q.answering++
	q.unread += size
	q.begun()
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.answering--
		q.unread -= size
		q.check()
		q.begun()
	}
}

// begun has a call that waits received, where one more may be open now.
func (q *queue) begun() {
	if len(q.calls) > 0 {
		q.arrived.Signal()
	}
}

// refuse queues the answer to a line that is no message.
func (q *queue) refuse(line string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addRefusal(line)
}

func (q *queue) addRefusal(line string) {
	q.refusals = append(q.refusals, line)
	q.refusing++
	q.ahead += len(line) + entryBytes
	q.unfit.Signal()
}

// nextRefusal waits for one.
func (q *queue) nextRefusal() (string, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.refusals) == 0 && !q.closed {
		q.unfit.Wait()
	}
	if q.closed {
		return "", false
	}
	line := q.refusals[0]
	q.refusals = q.refusals[1:]
	return line, true
}

// refused notes that a refusal is sent.
func (q *queue) refused(line string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refusing--
	q.ahead -= len(line) + entryBytes
	q.check()
	q.room.Broadcast()
}

// settle is closed when nothing is left to be received or answered, but what listens. Nothing
// more is added.
func (q *queue) settle() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.settled = make(chan struct{})
	q.check()
	return q.settled
}

func (q *queue) check() {
	if q.settled == nil || q.handed || len(q.calls)+len(q.others)+q.refusing+q.answering+len(q.open)-q.listens > 0 {
		return
	}
	select {
	case <-q.settled:
	default:
		close(q.settled)
	}
}
