package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/record"
	"github.com/loomext/loomext/satellite"
)

// maxSatellites is how many satellites are kept at once: those of the sessions that a record may hold side by side. One
// that is let go of to make place has lost what it kept in memory.
const maxSatellites = 64

// The bounds of the time that an invocation has: a record may name any. No manifest gives a tool more than ten minutes, and to
// a satellite zero is no bound.
const (
	minDeadline = time.Millisecond
	maxDeadline = 10 * time.Minute
)

// Options are what the invocations are run against.
type Options struct {
	// Against gives the extension for a name in the record, with its image, or why there is none. It is asked
	// once for each name. What it gives stays the caller's.
	Against func(name string) (*install.Installed, error)
	// Only, if not nil, says of a name whether its invocations are replayed. Of the others there is no result.
	Only func(name string) bool
	// Jail says how the jail behaves on this machine.
	Jail jail.Options
	// Jailed, if not nil, is told of the walls around each satellite.
	Jailed func(jail.Report)
	// Output, if not nil, takes what the programs print.
	Output io.Writer
}

// Outcome is an answer in the record or in its replay.
type Outcome struct {
	OK    bool
	Value wire.Value // where OK
	Fault wire.Fault // where not
}

// Result is one invocation that was replayed.
type Result struct {
	Entry *record.Entry
	// Skipped is why it was not replayed; empty where it was.
	Skipped string
	// Unread says that it was not replayed because the record, or a body of it, cannot be read.
	Unread bool
	// Was and Now are the two answers, and AnswerChanged whether they differ. A failure of the host's own making, as a
	// crash, is compared by its code alone: its message has what the process printed.
	Was, Now      Outcome
	AnswerChanged bool
	Effects       []EffectDiff
}

// Same says that there is no difference.
func (r Result) Same() bool { return r.Skipped == "" && !r.AnswerChanged && len(r.Effects) == 0 }

// Summary counts the results. The unread are among the skipped.
type Summary struct{ Same, Different, Skipped, Unread int }

// place is where a satellite belongs: to an extension in the session that began on a line.
type place struct {
	session   int
	extension string
}

// running is a satellite, and the one in the record whose part it plays.
type running struct {
	*satellite.Satellite
	start    int64
	artifact string
}

// Player replays records.
type Player struct {
	options    Options
	installed  map[string]*install.Installed
	missing    map[string]error
	satellites map[place]*running
	recent     []place // the one that was used last is the last
}

// New makes a player.
func New(o Options) *Player {
	return &Player{options: o, installed: map[string]*install.Installed{}, missing: map[string]error{}, satellites: map[place]*running{}}
}

// Run replays what the reader gives, in order, and hands each result to show, whose error ends it. The error is that, or that
// of the record, of the jail, or of ctx; then the summary is of what was replayed before.
func (p *Player) Run(ctx context.Context, r *record.Reader, show func(Result) error) (s Summary, err error) {
	defer p.close()
	for ctx.Err() == nil {
		next := prepare(r)
		if next.err == io.EOF {
			return s, nil
		}
		if next.err != nil {
			return s, next.err
		}
		if p.options.Only != nil && !p.options.Only(next.entry.Extension) {
			continue
		}
		result, err := p.play(ctx, next)
		if err != nil {
			return s, err
		}
		switch {
		case result.Skipped != "":
			s.Skipped++
			if result.Unread {
				s.Unread++
			}
		case result.Same():
			s.Same++
		default:
			s.Different++
		}
		if err := show(result); err != nil {
			return s, err
		}
	}
	return s, ctx.Err()
}

// played is an entry that was read, with what its replay needs of it.
type played struct {
	entry   *record.Entry
	skipped string
	unread  bool
	args    wire.Value
	was     Outcome
	deck    *deck
	err     error // of the reader; io.EOF at the end
}

// prepare reads an entry and decodes what its replay needs.
func prepare(r *record.Reader) (p played) {
	if p.entry, p.err = r.Next(); p.err != nil {
		return p
	}
	if p.skipped = unplayable(p.entry); p.skipped != "" {
		return p
	}
	answer := p.entry.Answer
	p.was = Outcome{OK: answer.OK, Fault: answer.Fault}
	var err error
	if p.args, err = p.entry.Args.Wire(); err == nil && answer.OK {
		p.was.Value, err = answer.Value.Wire()
	}
	if err == nil {
		p.deck, err = deal(p.entry)
	}
	if err != nil {
		p.skipped, p.unread = err.Error(), true
	}
	return p
}

// unplayable is why an invocation has no answer that a replay can have again.
func unplayable(e *record.Entry) string {
	switch {
	case !e.Answered:
		return "the record ends before its answer"
	case e.Kind != wire.CallTool && e.Kind != wire.CallEvent:
		return fmt.Sprintf("%.50q is no kind of invocation", e.Kind)
	case e.Answer.OK:
		return ""
	case e.Answer.Failed == wire.CodeCancelled:
		return "its caller gave up"
	case e.Answer.Failed == wire.CodeGone:
		return "it never reached the extension"
	}
	return ""
}

// play replays one invocation.
func (p *Player) play(ctx context.Context, next played) (Result, error) {
	result := Result{Entry: next.entry, Skipped: next.skipped, Unread: next.unread, Was: next.was}
	if result.Skipped != "" {
		return result, nil
	}
	installed, err := p.against(next.entry.Extension)
	if err != nil {
		result.Skipped = err.Error()
		return result, nil
	}
	if misfit := misfit(next, installed); misfit != "" {
		result.Now = Outcome{Fault: wire.Fault{Code: wire.CodeBadArguments, Msg: misfit}}
		result.AnswerChanged = true
		result.Effects = next.deck.differences()
		return result, nil
	}
	sat, err := p.satellite(ctx, next.entry, installed)
	if err != nil {
		return result, err
	}
	began, left := time.Now(), min(max(next.entry.Deadline, minDeadline), maxDeadline)
	value, err := sat.Invoke(ctx, satellite.Invocation{
		Kind: next.entry.Kind, Name: next.entry.Name, Args: next.args, Deadline: left,
		Effects: func(ctx context.Context, c satellite.CapCall) wire.Result {
			return next.deck.answer(ctx, c.Cap, c.Args)
		},
		Prompt: next.deck.prompt,
	})
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	late := time.Since(began) >= left
	var fault *satellite.Error
	switch {
	case err == nil && late && next.entry.Kind == wire.CallEvent:
		result.Now = Outcome{Fault: wire.Fault{Code: wire.CodeDeadline, Msg: "it answered when its time was over"}}
		result.AnswerChanged = result.Was.OK || result.Was.Fault.Code != wire.CodeDeadline
	case err == nil:
		result.Now = Outcome{OK: true, Value: value}
		result.AnswerChanged = !result.Was.OK || !same(result.Was.Value, value)
	case errors.As(err, &fault):
		result.Now = Outcome{Fault: wire.Fault{Code: fault.Code, Msg: fault.Msg}}
		minted := fault.Host || fault.Code == wire.CodeCrashed
		if late && !minted { // as in a session, what an extension says of its end is none of its answers
			result.Now.Fault.Code, minted = wire.CodeDeadline, true
		}
		result.AnswerChanged = result.Was.OK || result.Was.Fault.Code != result.Now.Fault.Code || !minted && result.Was.Fault.Msg != fault.Msg
	default:
		return result, err
	}
	if err := next.deck.unread(); err != nil {
		return Result{Entry: next.entry, Skipped: err.Error(), Unread: true, Was: result.Was}, nil
	}
	result.Effects = next.deck.differences()
	return result, nil
}

// misfit is why a session would not put the arguments to the tool: what was recorded fitted the schema that the tool had
// then.
func misfit(next played, installed *install.Installed) string {
	schema, ok := installed.Manifest.Schema(next.entry.Name)
	if next.entry.Kind != wire.CallTool || !ok {
		return ""
	}
	args, _ := next.args.Get("args")
	text, _ := args.AsText()
	faults := schema.Check(text)
	if len(faults) == 0 {
		return ""
	}
	why := "the arguments do not fit the schema"
	for _, f := range faults {
		why += "; " + f.Error()
	}
	return why
}

func (p *Player) against(name string) (*install.Installed, error) {
	if installed, err := p.installed[name], p.missing[name]; installed != nil || err != nil {
		return installed, err
	}
	installed, err := p.options.Against(name)
	p.installed[name], p.missing[name] = installed, err
	return installed, err
}

// satellite is the one that runs in the place of an entry, or a new one. Where another was called in the record than the
// time before, what that one had kept in memory was gone, and is gone here.
func (p *Player) satellite(ctx context.Context, e *record.Entry, installed *install.Installed) (*running, error) {
	at := place{e.SessionLine, e.Extension}
	p.recent = append(slices.DeleteFunc(p.recent, func(other place) bool { return other == at }), at)
	if sat := p.satellites[at]; sat != nil {
		if sat.Ended() == nil && sat.start == e.Start && sat.artifact == e.As.ArtifactDigest {
			return sat, nil
		}
		p.leave(at)
	} else if len(p.recent) > maxSatellites {
		p.leave(p.recent[0])
		p.recent = p.recent[1:]
	}
	sat, err := satellite.Launch(ctx, satellite.Config{
		Image: installed.Image, Limits: installed.Record.Limits(), Jail: p.options.Jail, Output: p.options.Output,
	})
	if ctx.Err() != nil {
		err = ctx.Err()
	} else if err != nil {
		err = &install.Error{Layer: install.LayerJail, Err: err}
	}
	if err != nil {
		if sat != nil {
			sat.Close()
		}
		return nil, err
	}
	p.satellites[at] = &running{sat, e.Start, e.As.ArtifactDigest}
	if p.options.Jailed != nil {
		p.options.Jailed(sat.Report())
	}
	return p.satellites[at], nil
}

// leave ends the satellite of a place, if there is one.
func (p *Player) leave(at place) {
	if sat := p.satellites[at]; sat != nil {
		sat.Close()
		delete(p.satellites, at)
	}
}

func (p *Player) close() {
	for at := range p.satellites {
		p.leave(at)
	}
	p.recent = nil
}
