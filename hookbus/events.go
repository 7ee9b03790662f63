package hookbus

import (
	"bytes"
	"encoding/json"
)

// event is one of the nine, in the order of an agent's life.
type event int

const (
	sessionStart event = iota
	beforeAgentStart
	contextEvent
	toolCall
	toolResult
	agentEnd
	agentSettled
	beforeCompact
	usage
	events // how many there are
)

var names = [events]string{
	"session_start", "before_agent_start", "context", "tool_call", "tool_result",
	"agent_end", "agent_settled", "before_compact", "usage",
}

// RunStart is a run that is about to begin.
type RunStart struct {
	OpID   string `json:"op_id"`  // names the run; opaque
	Strand string `json:"strand"` // names the line of conversation; opaque
}

// Call is a tool call of the model that has not been made.
type Call struct {
	OpID string
	Tool string // by the name that the model knows it by
	// Arguments are the model's, byte for byte. Empty is {}.
	Arguments   json.RawMessage
	SourceIndex int // the call's place among those of its message
}

// Compaction is the replacement of older messages by a summary, which is about to be
// written.
type Compaction struct {
	OpID               string `json:"op_id"`
	Reason             string `json:"reason"` // "threshold", "overflow", "requested", or another word
	TokensBefore       int64  `json:"tokens_before"`
	SummarizedMessages int64  `json:"summarized_messages"`
	RetainedMessages   int64  `json:"retained_messages"`
}

// Usage is a row of the harness's cost ledger that has been written. What the provider
// does not count is nil.
type Usage struct {
	OpID               string  `json:"op_id"`
	UsageID            string  `json:"usage_id"`
	Seq                int64   `json:"seq"` // as storage assigned it
	EntryID            *string `json:"entry_id"`
	Adjustment         bool    `json:"adjustment"` // it corrects rows that came before
	InputTokens        int64   `json:"input_tokens"`
	OutputTokens       int64   `json:"output_tokens"`
	CacheReadTokens    int64   `json:"cache_read_tokens"`
	CacheWriteTokens   int64   `json:"cache_write_tokens"`
	CacheWrite1hTokens *int64  `json:"cache_write_1h_tokens"`
	ThinkingTokens     *int64  `json:"thinking_tokens"`
	TotalTokens        int64   `json:"total_tokens"`
	Cost               float64 `json:"cost"` // neither infinite nor NaN
}

// opDocument is the document of an event that has an op id alone.
func opDocument(opID string) json.RawMessage {
	return append(appendQuoted([]byte(`{"op_id":`), opID), '}')
}

// encoded is JSON as the wire wants it: nothing is escaped for HTML.
func encoded(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// appendQuoted appends a JSON string. Invalid UTF-8 in the text is replaced.
func appendQuoted(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			out, _ := encoded(text) // a string has an encoding
			return append(dst, out...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}
