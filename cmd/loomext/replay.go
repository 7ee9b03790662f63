package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/record"
	"github.com/loomext/loomext/replay"
)

// replayEntry is one line of what replay --json prints. docs/cli.md describes it.
type replayEntry struct {
	Session       string             `json:"session"`
	Call          int64              `json:"call"`
	Line          int                `json:"line"`
	Extension     string             `json:"extension"`
	Kind          string             `json:"kind"`
	Name          string             `json:"name"`
	Skipped       string             `json:"skipped"`
	Same          bool               `json:"same"`
	AnswerChanged bool               `json:"answer_changed"`
	Was           *replayAnswer      `json:"was"`
	Now           *replayAnswer      `json:"now"`
	Effects       []replayEffectDiff `json:"effects"`
}

// replayAnswer is an answer in the record or in the replay.
type replayAnswer struct {
	OK      bool            `json:"ok"`
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Value   json.RawMessage `json:"value"`
}

// replayEffectDiff is an effect that differs.
type replayEffectDiff struct {
	Change string          `json:"change"`
	Cap    string          `json:"cap"`
	Was    json.RawMessage `json:"was"`
	Now    json.RawMessage `json:"now"`
}

// replayOptions are the flags of replay.
type replayOptions struct {
	with, against, extension string
	sets                     []string
	asJSON, bestEffort       bool
}

func (c *cli) replayCommand() *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay <file>",
		Short: "Run the invocations of a record again, and show what is different",
		Long: `replay runs the invocations of a record that --record made, in their order, in jailed satellites,
and answers every effect from the record: nothing is fetched, written, run or asked. Each
difference is shown: an answer that changed, and an effect that is new, gone or has other
arguments.

Without a flag it runs against what is installed. --with builds a source directory, as dev does,
and runs the invocations of the extension of that name against it; --against takes another
installed extension. An extension that takes time and randomness from the host replays without a
difference; docs/record.md says what breaks that.

Exit statuses: 0 no difference; 2 usage; 16 the file cannot be read, is damaged, is no record or has no
invocation of the extension, or that is not installed; 10 to 15 the layer that refused --with; 18 the jail; 21 there are
differences. See "loomext help exitcodes".`,
		Example: `  loomext replay audit.jsonl
  loomext replay audit.jsonl --with ./units
  loomext replay audit.jsonl --extension units --against units2 --json`,
		Args: exactly("file"),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.with, "with", "", "a source directory to build and run against")
	flags.StringVar(&o.against, "against", "", "an installed extension to run against")
	flags.StringVar(&o.extension, "extension", "", "only invocations of this extension")
	flags.StringArrayVar(&o.sets, "set", nil, "with --with: set a key of its configuration, as install does")
	flags.BoolVar(&o.bestEffort, "best-effort", false, "accept a weaker jail where this machine lacks namespaces or Landlock")
	flags.BoolVar(&o.asJSON, "json", false, "print each invocation as JSON on a line of its own")
	must(cmd.MarkFlagDirname("with"))
	must(cmd.RegisterFlagCompletionFunc("against", c.completeExtension))
	must(cmd.RegisterFlagCompletionFunc("extension", c.completeExtension))
	cmd.RunE = ran(func(cmd *cobra.Command, args []string) error {
		if err := refuseEmpty(cmd, "with", "against", "extension"); err != nil {
			return err
		}
		switch {
		case o.with != "" && o.against != "":
			return usagef("--with and --against are two programs; give one")
		case len(o.sets) > 0 && o.with == "":
			return usagef("--set is for what --with builds; an installed extension keeps its configuration")
		}
		c.jail.BestEffort = o.bestEffort
		return c.replay(cmd.Context(), args[0], o)
	})
	return cmd
}

func (c *cli) replay(ctx context.Context, path string, o replayOptions) error {
	r, err := record.Read(path)
	if err != nil {
		return recordFault(err)
	}
	defer r.Close()
	target, err := c.replayTarget(ctx, &o)
	if err != nil {
		return err
	}
	defer target.close()
	show := c.replayText
	if o.asJSON {
		show = c.replayJSON
	}
	extensions := seen{wanted: o.extension}
	summary, err := replay.New(replay.Options{
		Against: target.against, Jail: c.jail, Jailed: c.noteJail,
		Only: func(name string) bool {
			extensions.add(name)
			return o.extension == "" || name == o.extension
		},
	}).Run(ctx, r, show)
	if err != nil {
		return recordFault(err)
	}
	c.tellDamage(r)
	total := summary.Same + summary.Different + summary.Skipped
	if total == 0 { // which would pass for one without a difference
		return extensions.fault("invocation")
	}
	c.errorf("replay: %s: %d the same, %d different, %d not replayed\n", counted(total, "invocation"), summary.Same, summary.Different, summary.Skipped)
	if summary.Different > 0 {
		return &statusError{status: statusDifferent}
	}
	if summary.Unread > 0 || tampered(r) { // what is damaged says nothing of what it was
		return &install.Error{Layer: install.LayerRecord, Err: fmt.Errorf("%s: the record is damaged, and not all of it was replayed; the lines above say where; use a whole one", escape.Line(path))}
	}
	return target.missing // or a replay of nothing would pass for one without a difference
}

// tampered reports whether a record has lines that nobody wrote so. One that was cut off when its writer was killed is none of
// them: what it began has no answer, and that is told.
func tampered(r *record.Reader) bool {
	return r.Damaged() > len(r.Damage()) || slices.ContainsFunc(r.Damage(), func(d record.Damage) bool { return !d.Short })
}

// replayTarget is what the invocations of a record run against.
type replayTarget struct {
	load    func(name string) (*install.Installed, error)
	loaded  []*install.Installed
	missing error // the first that could not be loaded
}

func (t *replayTarget) close() {
	for _, installed := range t.loaded {
		_ = installed.Close()
	}
}

// against gives the extension for a name in the record.
func (t *replayTarget) against(name string) (*install.Installed, error) {
	installed, err := t.load(name)
	if err == nil {
		t.loaded = append(t.loaded, installed)
	} else if t.missing == nil {
		t.missing = err
	}
	return installed, err
}

// replayTarget builds or loads what the flags name, so that a fault of it comes first.
func (c *cli) replayTarget(ctx context.Context, o *replayOptions) (*replayTarget, error) {
	if o.with != "" {
		built, err := install.Try(ctx, install.Options{Source: o.with, Sets: o.sets, Progress: c.showStep, Builder: c.builder()}, nil)
		if err != nil {
			return nil, err
		}
		if o.extension == "" {
			o.extension = built.Record.Name
		}
		return &replayTarget{load: func(string) (*install.Installed, error) { return built, nil }}, nil
	}
	store, err := c.store()
	if err != nil {
		return nil, err
	}
	if o.against != "" {
		other, err := store.LoadImage(ctx, o.against)
		if err != nil {
			return nil, err
		}
		if o.extension == "" {
			o.extension = o.against
		}
		return &replayTarget{load: func(string) (*install.Installed, error) { return other, nil }}, nil
	}
	return &replayTarget{load: func(name string) (*install.Installed, error) { return store.LoadImage(ctx, name) }}, nil
}

func (c *cli) replayJSON(r replay.Result) error {
	out := replayEntry{
		Session: r.Entry.Session, Call: r.Entry.Call, Line: r.Entry.Line, Extension: r.Entry.Extension, Kind: r.Entry.Kind, Name: r.Entry.Name,
		Skipped: r.Skipped, Same: r.Same(), AnswerChanged: r.AnswerChanged, Effects: []replayEffectDiff{},
	}
	if r.AnswerChanged {
		out.Was, out.Now = answerJSON(r.Was), answerJSON(r.Now)
	}
	for _, e := range r.Effects {
		out.Effects = append(out.Effects, replayEffectDiff{Change: string(e.Change), Cap: e.Cap, Was: valueJSON(e.Was), Now: valueJSON(e.Now)})
	}
	return c.printLine(out)
}

func answerJSON(o replay.Outcome) *replayAnswer {
	a := &replayAnswer{OK: o.OK, Code: o.Fault.Code, Message: o.Fault.Msg, Value: json.RawMessage("null")}
	if o.OK {
		a.Value = valueJSON(&o.Value)
	}
	return a
}

func valueJSON(v *wire.Value) json.RawMessage {
	if v == nil {
		return json.RawMessage("null")
	}
	return record.Whole(*v)
}

// replayText shows what is different, and nothing of what is the same.
func (c *cli) replayText(r replay.Result) error {
	if r.Same() {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "line %d: %s %s, call %d of session %s\n", r.Entry.Line, shown(r.Entry.Extension, whatWidth), shown(r.Entry.Name, whatWidth), r.Entry.Call, escape.Line(short(r.Entry.Session)))
	if r.Skipped != "" {
		fmt.Fprintf(&text, "  not replayed: %s\n", escape.Line(r.Skipped))
	}
	if r.AnswerChanged {
		text.WriteString("  answer changed\n")
		was, now := answerText(r.Was), answerText(r.Now)
		if r.Was.OK && r.Now.OK {
			was, now = twoLegible(&r.Was.Value, &r.Now.Value)
		}
		both(&text, was, now)
	}
	for _, e := range r.Effects {
		fmt.Fprintf(&text, "  effect %s: %s\n", e.Change, shown(e.Cap, whatWidth))
		switch {
		case e.Was == nil:
			fmt.Fprintf(&text, "    now: %s\n", shown(valueText(new(spelled(*e.Now))), bodyColumns))
		case e.Now == nil:
			fmt.Fprintf(&text, "    was: %s\n", shown(valueText(new(spelled(*e.Was))), bodyColumns))
		default:
			was, now := twoLegible(e.Was, e.Now)
			both(&text, was, now)
		}
	}
	return c.printf("%s", text.String())
}

// leadColumns is how much is shown of what two texts begin alike with.
const leadColumns = 30

// both shows two texts from shortly before where they differ.
func both(text *strings.Builder, was, now string) {
	alike := 0
	for alike < min(len(was), len(now)) && was[alike] == now[alike] {
		alike++
	}
	lead := ""
	if alike > leadColumns {
		from := alike - leadColumns
		for from > 0 && !utf8.RuneStart(was[from]) {
			from--
		}
		was, now, lead = was[from:], now[from:], "…"
	}
	fmt.Fprintf(text, "    was: %s%s\n    now: %s%s\n", lead, shown(was, bodyColumns), lead, shown(now, bodyColumns))
}

func answerText(o replay.Outcome) string {
	if o.OK {
		return valueText(&o.Value)
	}
	return o.Fault.Code + ": " + o.Fault.Msg
}

func valueText(v *wire.Value) string { return string(record.Whole(*v)) }

// twoLegible are two values as text, with bytes that are text shown as such, unless that is how they differ.
func twoLegible(was, now *wire.Value) (string, string) {
	a, b := valueText(new(spelled(*was))), valueText(new(spelled(*now)))
	if a == b {
		return valueText(was), valueText(now)
	}
	return a, b
}

// spelled is a value with a text in the place of all bytes that are one.
func spelled(v wire.Value) wire.Value {
	switch v.Type() {
	case wire.TypeBin:
		if b, _ := v.AsBin(); utf8.Valid(b) {
			return wire.Text(b)
		}
	case wire.TypeList:
		list, _ := v.AsList()
		out := make([]wire.Value, len(list))
		for i, item := range list {
			out[i] = spelled(item)
		}
		return wire.List(out...)
	case wire.TypeMap:
		fields, _ := v.AsMap()
		out := make([]wire.Field, len(fields))
		for i, f := range fields {
			out[i] = wire.Field{Key: f.Key, Value: spelled(f.Value)}
		}
		return wire.Map(out...)
	}
	return v
}

// completeExtension completes a flag with what is installed.
func (c *cli) completeExtension(cmd *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return c.completeNames(1)(cmd, nil, toComplete)
}
