package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/host/satlog"
	"github.com/loomext/loomext/install"
)

const (
	// logsLines is how many lines are shown where nobody says how many: some screens.
	logsLines = 100
	// sessionShown is how much of a session's name a line for people has.
	sessionShown = 8
	// logsStamp is a time as the file has it, so that one can be found in the other.
	logsStamp = "2006-01-02T15:04:05.000Z"
)

// logsEntry is one line of what logs --json prints. docs/cli.md describes it.
type logsEntry struct {
	Time    string `json:"time"`
	Session string `json:"session"`
	Note    bool   `json:"note"`
	Text    string `json:"text"`
}

// logsOptions are the flags of logs.
type logsOptions struct {
	follow, asJSON, notes bool
	lines                 int
	session               string
}

func (c *cli) logsCommand() *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:        "logs <name>",
		SuggestFor: []string{"tail", "journal"},
		Short:      "Show why an extension's satellites ended, with what a crash left",
		Long: `logs shows the last lines of an extension's log, of every session and program that ran it: what
the host noted, when a satellite started and why it ended, and between that what it wrote to
standard output and standard error. Extensions report with ctx.Report and cannot write there, so
that is what the Go runtime says of a crash. A line is the time, the beginning of the session's name,
a mark, and the text; the mark is | for what the satellite wrote and # for the host's notes.

The log is bounded: of an extension that writes much, the last few megabytes are there. It stays
when the extension is removed.

Exit statuses: 0, with lines or none; 2 usage; 16 neither installed nor a log there, or it cannot
be read; 128 and the signal's number where one ends --follow. See "loomext help exitcodes".`,
		Example: `  loomext logs units
  loomext logs units --follow --lines 0
  loomext logs units --notes --json`,
		Args:              exactly("name"),
		ValidArgsFunction: c.completeLogs,
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.follow, "follow", "f", false, "go on with every line that comes, until Ctrl-C")
	flags.IntVarP(&o.lines, "lines", "n", logsLines, "how many of the last lines; -1 is all")
	flags.StringVar(&o.session, "session", "", "only lines of sessions whose name begins like this")
	flags.BoolVar(&o.notes, "notes", false, "only what the host noted")
	flags.BoolVar(&o.asJSON, "json", false, "print each line as JSON on a line of its own")
	cmd.RunE = ran(func(cmd *cobra.Command, args []string) error {
		switch {
		case o.lines < -1:
			return usagef("--lines %d: give a number of lines, or -1 for all", o.lines)
		case cmd.Flags().Changed("session") && o.session == "":
			return usagef("--session is empty; name a session, or leave the flag out for all")
		}
		return c.logs(cmd.Context(), args[0], o)
	})
	return cmd
}

func (c *cli) logs(ctx context.Context, name string, o logsOptions) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	dir := filepath.Join(store.Home(), satlog.DirName)
	if !slices.Contains(satlog.Names(dir), name) {
		if err := wantInstalled(ctx, store, name); err != nil {
			return err
		}
		c.errorf("%s has no log yet; what it writes is kept from its next call on\n", escape.Line(name))
	}
	if o.follow {
		err = satlog.Follow(ctx, dir, name, o.lines, func(e satlog.Entry) error { return c.showEntries(o, e) }, o.keeps)
		if ctx.Err() != nil {
			return &endlessError{err}
		}
		return logsFault(err)
	}
	entries, err := satlog.Read(dir, name, o.lines, o.keeps)
	if err != nil {
		return logsFault(err)
	}
	return c.showEntries(o, entries...)
}

// logsFault is the record's error, but for one of standard output.
func logsFault(err error) error {
	if errors.As(err, new(*outputError)) {
		return err
	}
	return &install.Error{Layer: install.LayerRecord, Err: err}
}

// wantInstalled is the error of a name that is not there. What is installed and broken is there.
func wantInstalled(ctx context.Context, store *install.Store, name string) error {
	entries, err := store.List()
	if err != nil || slices.ContainsFunc(entries, func(e install.Entry) bool { return e.Name == name }) {
		return err
	}
	installed, err := store.Load(ctx, name) // which says what is wrong with the name
	if err == nil {
		installed.Close()
	}
	return meant(store, name, err)
}

// keeps reports whether an entry is asked for.
func (o logsOptions) keeps(e satlog.Entry) bool {
	return strings.HasPrefix(e.Session, o.session) && (e.Note || !o.notes)
}

// showEntries prints entries: as JSON line by line, for people in one write.
func (c *cli) showEntries(o logsOptions, entries ...satlog.Entry) error {
	if o.asJSON {
		for _, e := range entries {
			if err := c.printLine(newLogsEntry(e)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(entries) == 0 {
		return nil
	}
	var (
		text  strings.Builder
		paint = c.colorsOf(c.out)
		shown = isTerminal(c.out)
	)
	for _, e := range entries {
		text.WriteString(entryText(e, shown, paint))
	}
	return c.printf("%s", text.String())
}

// entryText is a line for people, escaped where a terminal shows it. What is no line of ours has
// neither time nor session.
func entryText(e satlog.Entry, shown bool, paint colors) string {
	at, session, mark := "-", short(e.Session), "|"
	if !e.Time.IsZero() {
		at = e.Time.Format(logsStamp)
	}
	if session == "" {
		session = "-"
	}
	text := e.Text
	if shown {
		session, text = escape.Line(session), escape.Line(text)
	}
	if e.Note {
		mark = "#"
	}
	return paint.faint + at + " " + session + " " + mark + paint.off + " " + text + "\n"
}

// short is the beginning of a session's name.
func short(session string) string {
	if runes := []rune(session); len(runes) > sessionShown {
		return string(runes[:sessionShown])
	}
	return session
}

func newLogsEntry(e satlog.Entry) logsEntry {
	entry := logsEntry{Session: e.Session, Note: e.Note, Text: e.Text}
	if !e.Time.IsZero() {
		entry.Time = e.Time.Format(logsStamp)
	}
	return entry
}

// completeLogs completes what is installed, and what has a log.
func (c *cli) completeLogs(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	names, directive := c.completeNames(1)(cmd, args, toComplete)
	store, err := c.store()
	if err != nil || len(args) > 0 {
		return names, directive
	}
	installed := c.entries()
	for _, name := range satlog.Names(filepath.Join(store.Home(), satlog.DirName)) {
		if !slices.ContainsFunc(installed, func(e install.Entry) bool { return e.Name == name }) {
			names = append(names, completion(name, "no longer installed"))
		}
	}
	return names, directive
}
