// Package runtime dispatches what a host asks of a satellite to the tools and hooks of
// an extension.
//
// It is what the entry that the build generates calls, and it is not for extensions to
// import. The channel, its token, one invocation at a time, crashes and deadlines are
// all prelude/cap/runtime's; this package sees one question and gives one answer.
// [Answer] is that step alone, to be driven by a test with no channel and no process.
//
// Its invariants:
//
//   - A tool never sees arguments that are not JSON.
//   - An event that nobody handles is an answer, not a fault.
//   - A table that disagrees with itself is answered in words that name both sides.
package runtime

import (
	"github.com/loomext/loomext/prelude/cap/runtime"
	"github.com/loomext/loomext/prelude/ext"
	"github.com/loomext/loomext/prelude/ext/hook"
)

// The codes an answer of this package fails with.
const (
	// RefusedCode is the extension working as written: its text is for the model.
	RefusedCode = "refused"
	// UnknownToolCode is a manifest and an artifact that disagree about the tools.
	UnknownToolCode = "unknown_tool"
	// UnhandledCode is an event this extension does not care about: nothing happened.
	UnhandledCode = "unhandled"
	// MismatchedHookCode is an event that was declared with another event's hook.
	MismatchedHookCode = "mismatched_hook"
	// BadArgumentsCode is a question whose arguments have the wrong shape.
	BadArgumentsCode = "bad_arguments"
)

// NamedTool is one tool under the name the manifest gives it.
type NamedTool struct {
	Name string
	Tool ext.Tool
}

// Declared is one event the manifest declares, with the hook that was compiled for it.
// The two come from different places, so Answer compares them.
type Declared struct {
	Event string
	Hook  hook.Hook
}

// What the layer below asks and is answered.
type (
	// Asked is one question: what is asked for, with what, and how much time is left.
	Asked = runtime.Asked
	// Invocation is what is asked for: a tool, an event or a command, by name.
	Invocation = runtime.Invocation
	// Reply is one answer: a value, or a code and a sentence.
	Reply = runtime.Answer
)

// The kinds of an invocation.
const (
	Tool    = runtime.Tool
	Event   = runtime.Event
	Command = runtime.Command
)

// Serve answers with tools until the host ends the satellite. It does not return.
func Serve(tools []NamedTool) { Serving(tools, nil) }

// Serving answers with tools and hooks until the host ends the satellite. It does not
// return: the process exits with 0 when the host is done, and with 1 and a line on
// stderr after a bad declaration, a failed boot or a fault of the channel.
func Serving(tools []NamedTool, hooks []Declared) {
	if undeclared != nil {
		runtime.Refuse(undeclared)
	}
	runtime.Serve(func(asked Asked) Reply { return Answer(tools, hooks, asked) })
}
