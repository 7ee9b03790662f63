//lint:file-ignore SA1019 the SDK marks what the protocol gives a year's notice of; clients use it until then

package mcp

import (
	"fmt"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// outputQueue is how many printed lines may wait for a client to take them in.
	outputQueue = 256
	// outputRate is how many are sent in a second: more than anybody reads. The log has
	// all of them.
	outputRate = 200
)

// line is one line that an extension printed.
type line struct{ extension, text string }

// output is what extensions print, on its way to clients. Nothing waits for it: what there
// is no room for is counted and left out.
type output struct {
	lines chan line
	lost  *atomic.Int64
}

func newOutput() output {
	return output{lines: make(chan line, outputQueue), lost: new(atomic.Int64)}
}

// take takes a line in, or leaves it out. It does not block.
func (o output) take(extension, text string) {
	select {
	case o.lines <- line{extension, text}:
	default:
		o.lost.Add(1)
	}
}

// forward sends lines to clients as they come.
func (b *Bridge) forward() {
	second, sent := time.Now(), 0
	for {
		var l line
		select {
		case <-b.ctx.Done():
			return
		case l = <-b.output.lines:
		}
		if time.Since(second) >= time.Second {
			second, sent = time.Now(), 0
		}
		if sent++; sent > outputRate {
			b.output.lost.Add(1)
			continue
		}
		if lost := b.output.lost.Swap(0); lost > 0 {
			b.tell(l.extension, "warning", fmt.Sprintf("loomext left out %d lines that came too fast; `loomext logs` has them", lost))
		}
		b.tell(l.extension, "info", l.text)
	}
}

// tell sends one message to the client whose call the extension answers. Where it answers
// none, those clients get it that have a way for what belongs to no request.
func (b *Bridge) tell(extension string, level sdk.LoggingLevel, text string) {
	params := &sdk.LoggingMessageParams{Level: level, Logger: extension, Data: text}
	if open := b.open.first(extension); open != nil {
		_ = open.client.session.Log(open.ctx, params) // a client that is gone is noticed elsewhere
		return
	}
	for session := range b.server.Sessions() {
		_ = session.Log(b.ctx, params)
	}
}
