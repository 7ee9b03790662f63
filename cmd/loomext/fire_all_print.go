package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
)

// printFireAll prints each answer and then what came of them. It is made of lines of ours with
// foreign text in them, so that text is escaped wherever it goes.
func (c *cli) printFireAll(r fireAllResult) error {
	var text strings.Builder
	pretty := isTerminal(c.out)
	for _, a := range r.Answers {
		fmt.Fprintf(&text, "%s (%s): ", escape.Line(a.Extension), tookText(a.took))
		if a.Error == nil {
			text.WriteString(shownJSON(a.Answer, pretty) + "\n")
			continue
		}
		fmt.Fprintf(&text, "nothing of use: %s: %s\n", escape.Line(a.Error.Code), escape.Indented(a.Error.Msg, "  "))
		if a.Error.Output != "" {
			text.WriteString("  " + escape.Indented(a.Error.Output, "  ") + "\n")
		}
		if a.Answer != nil {
			text.WriteString("  it answered: " + shownJSON(a.Answer, pretty) + "\n")
		}
	}
	text.WriteString("result: " + r.Result.text(r.Event, pretty) + "\n")
	return c.printf("%s", text.String())
}

// text is what a harness gets, for people.
func (o fireAllOutcome) text(event string, pretty bool) string {
	switch event {
	case "tool_call":
		switch {
		case o.Verdict.Allowed:
			return "allowed"
		case o.Verdict.By == "":
			return "blocked: " + escape.Indented(o.Verdict.Reason, "  ")
		}
		return "blocked by " + escape.Line(o.Verdict.By) + ": " + escape.Indented(o.Verdict.Reason, "  ")
	case "before_agent_start":
		return textsText("injection", o.Injections)
	case "before_compact":
		return textsText("note", o.Notes)
	case "context":
		list, err := encodeRaw(o.Messages)
		if err != nil {
			return err.Error()
		}
		return counted(len(o.Messages), "message") + ": " + shownJSON(list, pretty)
	case "tool_result":
		return shownJSON(o.Message, pretty)
	}
	if len(o.Told) == 0 {
		return "nobody was told"
	}
	return "told " + strings.Join(o.Told, ", ")
}

func textsText(what string, texts []fireText) string {
	if len(texts) == 0 {
		return "no " + what + "s"
	}
	out := counted(len(texts), what)
	for _, t := range texts {
		out += "\n  " + escape.Indented(t.Text, "  ")
	}
	return out
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// encodeRaw is a list of documents as one, each as it stands.
func encodeRaw(messages []json.RawMessage) (json.RawMessage, error) {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(messages)
	return json.RawMessage(out.String()), err
}

// shownJSON is a document in a line of ours.
func shownJSON(document json.RawMessage, pretty bool) string {
	return escape.Indented(escape.JSON(string(layoutJSON(document, pretty))), "  ")
}

// tookText is a time that something took, to three digits.
func tookText(d time.Duration) string {
	unit := time.Microsecond
	for d/1000 >= unit { // of a record, which may say anything
		unit *= 10
	}
	return d.Round(unit).String()
}

// completeOnly completes a comma list of extensions.
func (c *cli) completeOnly(cmd *cobra.Command, _ []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
	given := ""
	if at := strings.LastIndexByte(toComplete, ','); at >= 0 {
		given = toComplete[:at+1]
	}
	names, _ := c.completeNames(-1)(cmd, commaList(given), toComplete)
	for i, name := range names {
		names[i] = given + name
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
