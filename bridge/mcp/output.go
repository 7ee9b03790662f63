//lint:file-ignore SA1019 the SDK marks what the protocol gives a year's notice of; clients use it until then

package mcp

import (
	"context"
	"fmt"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// feedQueue is how much may wait for a client that is slow to take it in. What comes on
	// top of that is left out: none is awaited.
	feedQueue = 256
	// maxLines is how many printed lines of one call are sent: more than anybody reads, and
	// the stack of any crash that one understands. The log has all of them.
	maxLines = 200
)

// feed is what the client of a call is told while the tool works, in the order in which it
// came: what the tool reports, as progress where the client gave a token for it and else as
// lines of its log, and what the satellite prints, as lines of its log. No satellite waits for
// it.
type feed struct {
	ctx       context.Context
	client    client
	extension string

	mu      sync.Mutex
	reports float64
	lines   int
	lost    int           // lines
	queue   chan news     // nil before the first
	sent    chan struct{} // closed when nothing is left to send
}

// news is one notification: progress, or a line of the log where it counts nothing.
type news struct {
	count float64
	text  string
}

// logs reports whether the client has a log at all.
func (f *feed) logs() bool { return !f.client.stateless || f.client.lines }

// report takes a partial in, or leaves it out. It does not block.
func (f *feed) report(text []byte) {
	if f.client.progress == nil && !f.logs() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	one := news{text: string(text)}
	if f.client.progress != nil {
		f.reports++
		one.count = f.reports
	}
	f.put(one)
}

// line takes a printed line in, or leaves it out. It does not block.
func (f *feed) line(text string) {
	if !f.logs() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines++
	if f.lines > maxLines || !f.put(news{text: text}) {
		f.lost++
	}
}

// put reports whether there was room. The lock is the caller's.
func (f *feed) put(one news) bool {
	if f.queue == nil {
		f.queue, f.sent = make(chan news, feedQueue), make(chan struct{})
		go f.send()
	}
	select {
	case f.queue <- one:
		return true
	default:
		return false
	}
}

// send ends with the queue. A client that is gone is noticed elsewhere.
func (f *feed) send() {
	defer close(f.sent)
	for one := range f.queue {
		if one.count > 0 {
			_ = f.client.session.NotifyProgress(f.ctx, &sdk.ProgressNotificationParams{ProgressToken: f.client.progress, Progress: one.count, Message: one.text})
		} else {
			f.log("info", one.text)
		}
	}
	f.mu.Lock()
	lost := f.lost
	f.mu.Unlock()
	if lost > 0 {
		f.log("warning", fmt.Sprintf("loomext left out %d more lines; `loomext logs %s` has them", lost, f.extension))
	}
}

func (f *feed) log(level sdk.LoggingLevel, text string) {
	_ = f.client.session.Log(f.ctx, &sdk.LoggingMessageParams{Level: level, Logger: f.extension, Data: text})
}

// end waits until what came is sent: the answer follows it. Nothing comes any more.
func (f *feed) end() {
	f.mu.Lock()
	queue := f.queue
	f.mu.Unlock()
	if queue != nil {
		close(queue)
		<-f.sent
	}
}
