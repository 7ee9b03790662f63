package broker

import (
	"context"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/loomext/loomext/broker/proc"
	"github.com/loomext/loomext/internal/wire"
)

func (i *Invocation) procRun(ctx context.Context, a *arguments) (wire.Value, *refusal) {
	request := proc.Request{Argv: a.words("argv", proc.MaxArguments+1), Stdin: a.bytes("stdin")}
	ms := a.integer("timeout_ms")
	if refused := a.refused(); refused != nil {
		return wire.Value{}, refused
	}
	if ms < 0 {
		return wire.Value{}, invalid("timeout_ms is " + strconv.FormatInt(ms, 10) + "; want 0, which leaves it to the invocation, or more")
	}
	request.Timeout = time.Duration(min(ms, proc.MaxTimeout.Milliseconds())) * time.Millisecond
	if i.scope.terms.Proc == nil {
		return wire.Value{}, denied("this session has no workspace, and commands run over one; start it with a workspace")
	}
	result, err := i.scope.terms.Proc.Run(ctx, request)
	if err != nil {
		return wire.Value{}, notRun(err)
	}
	return wire.Map(
		wire.Field{Key: "exit", Value: wire.Int(int64(result.Exit))},
		wire.Field{Key: "stdout", Value: wire.Bin(result.Stdout)},
		wire.Field{Key: "stderr", Value: wire.Bin(result.Stderr)},
		wire.Field{Key: "truncated", Value: wire.Bool(result.Truncated)},
	), nil
}

// words is a list of str, of which so many are looked at.
func (a *arguments) words(name string, most int) []string {
	v, _ := a.field(name, wire.TypeList)
	list, _ := v.AsList()
	words := make([]string, 0, min(len(list), most))
	for n, one := range list[:min(len(list), most)] {
		place := name + "[" + strconv.Itoa(n) + "]"
		s, ok := one.AsString()
		switch {
		case !ok:
			a.fault(place + " is " + article(one.Type()) + "; want a str")
		case !utf8.ValidString(s):
			a.fault(place + " is no UTF-8")
		}
		words = append(words, s)
		if len(a.faults) > maxFaults {
			break
		}
	}
	return words
}

// commandCodes are the protocol's words for what a command ended in.
var commandCodes = map[proc.Kind]string{
	proc.Invalid:     wire.CodeInvalidArgument,
	proc.TooLarge:    wire.CodeTooLarge,
	proc.NotAllowed:  wire.CodeNotAllowed,
	proc.NotFound:    wire.CodeNotFound,
	proc.Ceiling:     wire.CodePolicy,
	proc.Unavailable: wire.CodeUnavailable,
	proc.Deadline:    wire.CodeDeadline,
	proc.Cancelled:   wire.CodeCancelled,
}

func notRun(err error) *refusal {
	e, ok := errors.AsType[*proc.Error](err)
	if !ok {
		return unavailable("the command could not be run") // what is not the runner's own text is not repeated
	}
	code, ok := commandCodes[e.Kind]
	if !ok {
		code = wire.CodeUnavailable
	}
	return &refusal{code, e.Msg}
}
