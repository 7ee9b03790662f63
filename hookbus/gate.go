package hookbus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loomext/loomext/host"
)

const (
	// maxReason is how much of a reason a verdict carries, in bytes: a page, for a model
	// that is to call differently.
	maxReason = 4 << 10
	// maxQuoted is how much of a foreign message a reason of the bus's own repeats.
	maxQuoted = 300
)

// Verdict is what the gates make of a tool call. The zero value allows nothing.
type Verdict struct {
	Allowed bool
	// By is the extension that blocked, the first in load order. It is empty where the
	// call was blocked by the bus itself.
	By string
	// Reason is the extension's own text where it blocked, and else what kept it from a
	// verdict and what to do. It is foreign text either way.
	Reason string
	// Err is what kept By from a verdict. Nil where it gave one.
	Err error
}

// Reply is what a model is told in place of a result: who blocked, in the bus's words, and
// why, in a fence. It is empty where the call is allowed.
func (v Verdict) Reply() string {
	switch {
	case v.Allowed:
		return ""
	case v.By == "":
		return "The call was not made: " + v.Reason
	case v.Err != nil:
		return "The call was not made: " + Fence(v.By, v.Reason)
	}
	return "The call was not made. The extension " + v.By + " blocked it:\n" + Fence(v.By, v.Reason)
}

// ToolCall asks all gates about a call, and says whether it may be made. One that blocks
// is enough. So is one that gives no verdict, for whatever reason, the end of ctx among
// them, unless the operator set it open. All are waited for, so that the extension that
// is named is the first in load order.
func (b *Bus) ToolCall(ctx context.Context, c Call) Verdict {
	if len(b.declared[toolCall]) == 0 {
		return Verdict{Allowed: true}
	}
	if b.closed.Load() {
		return Verdict{Reason: "the session's hooks are closed, so its gates cannot be asked; begin another session"}
	}
	if len(c.Arguments) == 0 {
		c.Arguments = json.RawMessage("{}")
	}
	if !isText(c.Arguments) {
		return Verdict{Reason: "the arguments are not JSON in UTF-8, so the gates cannot judge them; call again with arguments that are"}
	}
	verdict := Verdict{Allowed: true}
	for i, f := range b.askAll(ctx, toolCall, c.document()) {
		m := b.declared[toolCall][i]
		var own Verdict
		if f.Err == nil {
			own, f.Err = m.verdict(f.Answer)
		}
		b.settle(m, toolCall, f, f.Err == nil && !own.Allowed)
		if f.Err != nil {
			own = m.unjudged(f.Err, ctx.Err() != nil, b.deadline[toolCall])
		}
		if verdict.Allowed && !own.Allowed {
			verdict = own
		}
	}
	return verdict
}

// document is the event's. The arguments stay as they are.
func (c Call) document() json.RawMessage {
	d := append(make([]byte, 0, len(c.Arguments)+len(c.OpID)+len(c.Tool)+80), `{"op_id":`...)
	d = appendQuoted(d, c.OpID)
	d = appendQuoted(append(d, `,"tool":`...), c.Tool)
	d = append(append(d, `,"arguments":`...), c.Arguments...)
	d = strconv.AppendInt(append(d, `,"source_index":`...), int64(c.SourceIndex), 10)
	return append(d, '}')
}

// verdict reads what a gate answered. A block without words is one.
func (m *member) verdict(answer json.RawMessage) (Verdict, error) {
	value, ok := find(answer, "verdict")
	if !ok {
		return Verdict{}, m.discard(toolCall, "it is not an object with one verdict")
	}
	switch word, _ := unquoted(value.of(answer)); word {
	case "allow":
		return Verdict{Allowed: true}, nil
	case "block":
		reason := ""
		if value, ok = find(answer, "reason"); ok {
			reason, _ = unquoted(value.of(answer))
		}
		if strings.TrimSpace(reason) == "" {
			reason = "it gave no reason"
		}
		return Verdict{By: m.name, Reason: shortened(reason, maxReason)}, nil
	}
	return Verdict{}, m.discard(toolCall, "its verdict is neither allow nor block")
}

// unjudged is what becomes of a call that a gate gave no verdict on.
func (m *member) unjudged(err error, gaveUp bool, deadline time.Duration) Verdict {
	if m.gate == Open {
		return Verdict{Allowed: true}
	}
	what, remedy := cause(m.name, err, deadline)
	if gaveUp && host.KindOf(err) == host.Deadline {
		what, remedy = cause(m.name, &host.Error{Kind: host.Cancelled}, deadline)
	}
	return Verdict{By: m.name, Err: err, Reason: "the gate of " + m.name + " gave no verdict, so the call is blocked. " + what + ". " + remedy + "."}
}

// cause says why there is no verdict, and what to do. The remedy for an operator who
// would rather have the gate open is in the documents, not in what a model reads.
func cause(name string, err error, deadline time.Duration) (what, remedy string) {
	const again = "Call again"
	logs := "; if it happens again, let the operator read loomext logs " + name
	var fault *host.Error
	if !errors.As(err, &fault) {
		var unread *Discarded
		why := err.Error()
		if errors.As(err, &unread) {
			why = unread.Why
		}
		return "Unreadable: its answer is no verdict: " + why, "Let the operator check it with loomext fire " + name + " tool_call"
	}
	said := ": " + strconv.Quote(shortened(fault.Msg, maxQuoted))
	switch fault.Kind {
	case host.Deadline:
		return fmt.Sprintf("Late: it did not answer within %s", deadline), again + "; if it happens again, let the operator give it more in deadline_ms of [hooks]"
	case host.Busy:
		return "Busy" + said, again + " when a tool of " + name + " that is running, or what else it does, has ended"
	case host.Cancelled:
		return "Cancelled: it was not waited for", again + " if the call is still wanted"
	case host.Crashed:
		return "Crashed" + said, again + logs
	case host.Gone:
		return "Out: there is nothing to ask" + said, "Let the operator run loomext verify " + name + " and loomext logs " + name + ", and begin another session"
	case host.Unrecorded: // its words name a place of this machine
		return "Unrecorded: the record of this session cannot be written", "Let the operator make room for the record, and begin another session"
	case host.Protocol:
		return "Unreadable: it did not keep to the protocol" + said, again + logs
	case host.Arguments:
		return "Unasked: the call does not fit an event" + said, again + " with smaller arguments"
	}
	return "Error: it answered " + strconv.Quote(shortened(fault.Code, maxQuoted)) + said, again + logs
}

// shortened is a text of at most so many bytes and an ellipsis.
func shortened(text string, bytes int) string {
	if len(text) <= bytes {
		return text
	}
	for bytes > 0 && !utf8.RuneStart(text[bytes]) {
		bytes--
	}
	return text[:bytes] + "…"
}
