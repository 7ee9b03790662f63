package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
)

// hookStatusOptions are the flags of status.
type hookStatusOptions struct {
	session string
	asJSON  bool
}

func (c *cli) statusCommand() *cobra.Command {
	var o hookStatusOptions
	cmd := &cobra.Command{
		Use:        "status",
		SuggestFor: []string{"hooks", "stats", "sessions"},
		Short:      "Show what became of the events of each session",
		Long: `status shows, for each session that fired an event and each extension that has hooks in it, how
often each event was asked, answered, blocked, failed and dropped, when it was last fired, and what
half and all but a hundredth of them took; --json has those that were never fired as well. The
session that changed last comes last. Why the last one failed stands below its table.

A session leaves its figures in status/ of the store, once a second while they change and when it
ends. One whose process is gone is shown as ended. Those of sessions that have ended are kept for
a week, and the last 64 of them at most.

Exit statuses: 0, with sessions or none; 2 usage; 16 the store cannot be read. See "loomext help
exitcodes".`,
		Example: `  loomext status
  loomext status --session 7f3a
  loomext status --json`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.session, "session", "", "only sessions whose name begins like this")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
	must(cmd.RegisterFlagCompletionFunc("session", c.completeSessions))
	cmd.RunE = ran(func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("session") && o.session == "" {
			return usagef("--session is empty; name a session, or leave the flag out for all")
		}
		return c.hookStatus(o)
	})
	return cmd
}

func (c *cli) hookStatus(o hookStatusOptions) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	all, damaged, err := hookbus.Snapshots(store.Home())
	if err != nil {
		return &install.Error{Layer: install.LayerRecord, Err: err}
	}
	for _, path := range damaged {
		c.errorf("record: %s: it does not say how a session stands, and is passed over; remove it\n", escape.Line(filepath.Clean(path)))
	}
	shown := []hookbus.Snapshot{}
	for _, s := range all {
		if strings.HasPrefix(s.Session, o.session) {
			shown = append(shown, s)
		}
	}
	if o.asJSON {
		return c.printJSON(shown)
	}
	if len(shown) == 0 {
		which := "no session"
		if o.session != "" {
			which = "no session whose name begins with " + escape.Line(o.session)
		}
		c.errorf("%s has fired an event of late\n", which)
		return nil
	}
	texts := make([]string, len(shown))
	for i, s := range shown {
		texts[i] = sessionText(s, c.colorsOf(c.out))
	}
	return c.printf("%s", strings.Join(texts, "\n"))
}

// sessionText is one session for people. Its file is loomext's own, and may have been written by
// anyone: it is escaped.
func sessionText(s hookbus.Snapshot, paint colors) string {
	var text strings.Builder
	fmt.Fprintf(&text, "session %s  %s  %s, process %d, since %s; changed %s\n", escape.Line(s.Session), s.State, escape.Line(s.Program), s.PID, statusTime(&s.Began), statusTime(&s.Updated))
	rows := [][]string{{"EXTENSION", "EVENT", "ASKED", "ANSWERED", "BLOCKED", "FAILED", "DROPPED", "P50", "P99", "LAST FIRED"}}
	var below []string
	for _, x := range s.Extensions {
		name := escape.Line(x.Name)
		if x.State == host.StateOut {
			below = append(below, name+" is out: "+escape.Indented(x.Reason, "  "))
		}
		for _, e := range x.Events {
			if e.Asked+e.Dropped == 0 {
				continue
			}
			rows = append(rows, []string{
				name, escape.Line(e.Event), strconv.Itoa(e.Asked), strconv.Itoa(e.Answered), strconv.Itoa(e.Blocked), strconv.Itoa(e.Failed), strconv.Itoa(e.Dropped),
				quantileText(e, e.P50US), quantileText(e, e.P99US), statusTime(e.LastFired),
			})
			if e.LastFailure != "" {
				below = append(below, name+" failed last at "+escape.Line(e.Event)+": "+escape.Indented(e.LastFailure, "  "))
			}
		}
		if x.Gate == hookbus.Open {
			below = append(below, name+" has an open gate: a tool call goes through when it gives no verdict")
		}
	}
	table(&text, rows)
	for _, line := range below {
		text.WriteString(paint.faint + line + paint.off + "\n")
	}
	return text.String()
}

// statusTime is a time for people, or that there was none.
func statusTime(t *time.Time) string {
	if t == nil || t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

// quantileText is a time in microseconds, where anything is over that could have taken it.
func quantileText(e hookbus.SnapshotEvent, us int64) string {
	if e.Answered+e.Failed == 0 {
		return "-"
	}
	return tookText(time.Duration(us) * time.Microsecond)
}

// completeSessions completes the sessions that there is something to show of.
func (c *cli) completeSessions(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	store, err := c.store()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	all, _, err := hookbus.Snapshots(store.Home())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []cobra.Completion
	for _, s := range all {
		names = append(names, completion(s.Session, string(s.State)+", "+s.Program))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
