package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/record"
)

// auditStamp is the time of an invocation in the table, in UTC. The day has a line of its own, auditDay.
const (
	auditStamp = "15:04:05.000"
	auditDay   = "2006-01-02 UTC"
)

// auditEntry is one line of what audit --json prints. docs/cli.md describes it.
type auditEntry struct {
	Session    string          `json:"session"`
	Call       int64           `json:"call"`
	At         time.Time       `json:"at"`
	Extension  string          `json:"extension"`
	Version    string          `json:"version"`
	Kind       string          `json:"kind"`
	Name       string          `json:"name"`
	Args       json.RawMessage `json:"args"`
	ArgsBytes  int64           `json:"args_bytes"`
	DeadlineMS int64           `json:"deadline_ms"`
	Answered   bool            `json:"answered"`
	auditVerdict
	Effects []auditEffect `json:"effects"`
}

// auditEffect is one effect of an invocation.
type auditEffect struct {
	Cap       string          `json:"cap"`
	Args      json.RawMessage `json:"args"`
	ArgsBytes int64           `json:"args_bytes"`
	BeganNS   int64           `json:"began_ns"`
	auditVerdict
}

// auditVerdict is how an invocation or an effect ended.
type auditVerdict struct {
	TookNS     int64           `json:"took_ns"`
	OK         bool            `json:"ok"`
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Value      json.RawMessage `json:"value"`
	ValueBytes int64           `json:"value_bytes"`
}

// auditOptions are the flags of audit.
type auditOptions struct {
	extension, session, capability string
	failed, calls, bodies, asJSON  bool
}

func (c *cli) auditCommand() *cobra.Command {
	var o auditOptions
	cmd := &cobra.Command{
		Use:   "audit <file>",
		Short: "Read a record of what extensions did",
		Long: `audit reads a record that --record made: every invocation with its effects, when it was, how long
it took, how many bytes went in and out, and how it ended. An effect that the broker refused has
its code as the verdict, and so has an invocation that failed.

A record that was cut off is read up to there, and standard error says so.

Exit statuses: 0, with invocations or none; 2 usage; 16 the file cannot be read, or is no record.
See "loomext help exitcodes".`,
		Example: `  loomext call units convert --args '{"value": 1, "from": "mi", "to": "km"}' --record audit.jsonl
  loomext audit audit.jsonl
  loomext audit audit.jsonl --capability net --failed
  loomext audit audit.jsonl --json | jq 'select(.took_ns > 1e9)'`,
		Args: exactly("file"),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.extension, "extension", "", "only invocations of this extension")
	flags.StringVar(&o.session, "session", "", "only sessions whose name begins like this")
	flags.StringVar(&o.capability, "capability", "", "only invocations with an effect of it, such as net or net.request")
	flags.BoolVar(&o.failed, "failed", false, "only invocations that failed, or an effect of which did")
	flags.BoolVar(&o.calls, "calls", false, "a line for each invocation, and none for its effects")
	flags.BoolVar(&o.bodies, "bodies", false, "show what went in and out as well, shortened")
	flags.BoolVar(&o.asJSON, "json", false, "print each invocation as JSON on a line of its own")
	must(cmd.RegisterFlagCompletionFunc("extension", c.completeExtension))
	cmd.RunE = ran(func(cmd *cobra.Command, args []string) error {
		if o.asJSON && (o.calls || o.bodies) {
			return usagef("--calls and --bodies are for the table; leave them or --json out")
		}
		if err := refuseEmpty(cmd, "extension", "session", "capability"); err != nil {
			return err
		}
		if err := checkCapability(o.capability); err != nil {
			return err
		}
		return c.audit(args[0], o)
	})
	return cmd
}

func (c *cli) audit(path string, o auditOptions) error {
	r, err := record.Read(path)
	if err != nil {
		return recordFault(err)
	}
	defer r.Close()
	show := c.auditTable(o)
	if o.asJSON {
		show = c.auditJSON
	}
	kept := 0
	extensions, effects := seen{wanted: o.extension}, seen{wanted: o.capability}
	for {
		entry, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return recordFault(err)
		}
		extensions.add(entry.Extension)
		for _, f := range entry.Effects {
			effects.add(f.Cap)
		}
		if !o.keeps(entry) {
			continue
		}
		kept++
		if err := show(entry); err != nil {
			return err
		}
	}
	c.tellDamage(r)
	if kept == 0 {
		c.tellNone(o, extensions, effects)
	}
	return nil
}

// tellNone says what a record has where that is not what was asked for.
func (c *cli) tellNone(o auditOptions, extensions, effects seen) {
	switch {
	case extensions.lacks():
		c.errorf("%s\n", extensions.fault("invocation"))
	case effects.lacks():
		c.errorf("%s\n", effects.fault("effect"))
	case o.extension+o.session+o.capability != "" || o.failed:
		c.errorf("record: it has no such invocation\n")
	}
}

// tellDamage says what of a record could not be read. A call whose line is damaged leaves as many
// lines behind as it had effects, so what is wrong with many is told once, with the first.
func (c *cli) tellDamage(r *record.Reader) {
	times := map[string]int{}
	for _, d := range r.Damage() {
		times[d.Why]++
	}
	for _, d := range r.Damage() {
		lines := fmt.Sprintf("line %d", d.Line)
		if more := times[d.Why] - 1; more > 0 {
			lines += fmt.Sprintf(" and %d more", more)
		}
		if times[d.Why] > 0 {
			c.errorf("record: %s cannot be read: %s; the others stand\n", lines, escape.Line(d.Why))
		}
		times[d.Why] = 0
	}
	if more := r.Damaged() - len(r.Damage()); more > 0 {
		c.errorf("record: %s more cannot be read\n", counted(more, "line"))
	}
	if r.Cut() {
		c.errorf("record: the last line was cut off; what stands before it was read\n")
	}
}

// recordFault is the error of a record as that of its layer.
func recordFault(err error) error {
	if fault, ok := errors.AsType[*record.Error](err); ok {
		return &install.Error{Layer: install.LayerRecord, Err: errors.New(strings.TrimPrefix(fault.Error(), "record: "))}
	}
	return err
}

// keeps reports whether an invocation is asked for.
func (o auditOptions) keeps(e *record.Entry) bool {
	if o.extension != "" && e.Extension != o.extension || !strings.HasPrefix(e.Session, o.session) {
		return false
	}
	failed, used := !e.Answered || !e.Answer.OK, o.capability == ""
	for _, effect := range e.Effects {
		failed = failed || !effect.OK
		used = used || isOf(effect.Cap, o.capability)
	}
	return used && (failed || !o.failed)
}

func (c *cli) auditJSON(e *record.Entry) error {
	out := auditEntry{
		Session: e.Session, Call: e.Call, At: e.At, Extension: e.Extension, Version: e.As.Version, Kind: e.Kind, Name: e.Name,
		Args: e.Args.JSON(), ArgsBytes: e.Args.Bytes(), DeadlineMS: e.Deadline.Milliseconds(), Answered: e.Answered,
		auditVerdict: verdictOf(e.Answer.Took, e.Answer.OK, e.Answer.Fault.Code, e.Answer.Fault.Msg, e.Answer.Value),
		Effects:      []auditEffect{},
	}
	for _, f := range e.Effects {
		out.Effects = append(out.Effects, auditEffect{
			Cap: f.Cap, Args: f.Args.JSON(), ArgsBytes: f.Args.Bytes(), BeganNS: int64(f.Began),
			auditVerdict: verdictOf(f.Took, f.OK, f.Fault.Code, f.Fault.Msg, f.Value),
		})
	}
	return c.printLine(out)
}

func verdictOf(took time.Duration, ok bool, code, msg string, v record.Value) auditVerdict {
	out := auditVerdict{TookNS: int64(took), OK: ok, Code: code, Message: msg, Value: json.RawMessage("null")}
	if ok {
		out.Value, out.ValueBytes = v.JSON(), v.Bytes()
	}
	return out
}

// The widths of the columns. A record is read while it is long, so no column waits for its widest cell, and what is
// wider is cut.
const (
	whatWidth    = 32
	verdictWidth = 24
)

const auditRow = "%-12s  %-8s  %5s  %-32s  %9s  %9s  %9s  %s\n"

// auditTable prints a row for each invocation and each of its effects, under a head and the day.
func (c *cli) auditTable(o auditOptions) func(*record.Entry) error {
	headed, day := false, ""
	return func(e *record.Entry) error {
		var text strings.Builder
		paint := c.colorsOf(c.out)
		if !headed {
			headed = true
			text.WriteString(paint.faint + fmt.Sprintf(auditRow, "time", "session", "call", "what", "took", "in", "out", "verdict") + paint.off)
		}
		at := e.At.UTC()
		if today := at.Format(auditDay); today != day {
			day = today
			text.WriteString(paint.faint + day + paint.off + "\n")
		}
		verdict := verdictText(e.Answer.OK, e.Answer.Fault.Code)
		if !e.Answered {
			verdict = "no answer"
		}
		fmt.Fprintf(&text, auditRow, at.Format(auditStamp), escape.Line(short(e.Session)), strconv.FormatInt(e.Call, 10),
			shown(e.Extension+" "+e.Name, whatWidth), tookText(e.Answer.Took), bytesText(e.Args.Bytes()), bytesText(e.Answer.Value.Bytes()), shown(verdict, verdictWidth))
		o.body(&text, "in", e.Args, e.Answer.OK, e.Answer.Value, e.Answer.Fault.Msg)
		for _, f := range e.Effects {
			if o.calls {
				break
			}
			fmt.Fprintf(&text, auditRow, "", "", "", "  "+shown(f.Cap, whatWidth-2), tookText(f.Took), bytesText(f.Args.Bytes()), bytesText(f.Value.Bytes()), shown(verdictText(f.OK, f.Fault.Code), verdictWidth))
			o.body(&text, "in", f.Args, f.OK, f.Value, f.Fault.Msg)
		}
		return c.printf("%s", text.String())
	}
}

// bodyColumns is how much of a body a line for people has.
const bodyColumns = 100

// body shows what went in and what came out, or why nothing did.
func (o auditOptions) body(text *strings.Builder, in string, args record.Value, ok bool, value record.Value, why string) {
	if !o.bodies {
		return
	}
	fmt.Fprintf(text, "%18s  %s\n", in, shown(string(args.JSON()), bodyColumns))
	if ok {
		why = string(value.JSON())
	}
	fmt.Fprintf(text, "%18s  %s\n", "out", shown(why, bodyColumns))
}

// shown is foreign text for one line, as much of it as fits the columns.
func shown(text string, width int) string {
	if most := width * maxEscape; len(text) > most { // of which no more would be seen
		text = strings.ToValidUTF8(text[:most], "")
	}
	return clip(escape.Line(text), width)
}

// maxEscape is how many bytes can take one column.
const maxEscape = utf8.UTFMax

func verdictText(ok bool, code string) string {
	if ok {
		return "ok"
	}
	return code
}
