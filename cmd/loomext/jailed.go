package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
)

// addBestEffort adds the flag of every command that starts something of an extension.
func (c *cli) addBestEffort(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.jail.BestEffort, "best-effort", false, "accept a weaker jail where this machine lacks namespaces or Landlock")
}

// noteJail says, once a command, which walls do not stand around what runs or ran.
func (c *cli) noteJail(report jail.Report) {
	if warning := report.Warning(); warning != "" {
		c.jailNotice.Do(func() { c.tell(escape.Line(warning)) })
	}
}

// atLevel is what a line that reports success adds where the jail was weaker than what is
// demanded without --best-effort.
func atLevel(level jail.Level) string {
	if level == "" || level.Default() {
		return ""
	}
	return " (jail level " + escape.Line(string(level)) + ")"
}

// places are those of a refusal that has to do with the command line or the program, and not
// with what the machine can enforce.
var places = map[string]bool{"program": true, "environment": true, "descriptors": true, "start": true, "system": true, "output": true, "wait": true}

// jailHint is a further line for a refusal of the jail's, or empty: where to look, and how to go
// on without a wall that can be gone on without.
func (c *cli) jailHint(err error) string {
	var (
		refusal *install.Error
		wall    *jail.Error
	)
	if !errors.As(err, &refusal) || refusal.Layer != install.LayerJail || !errors.As(err, &wall) || places[wall.Place] {
		return ""
	}
	hint := "\njail: `loomext doctor` shows what this machine can enforce, and the remedy for each wall"
	if forgoable[wall.Place] && !c.jail.BestEffort {
		hint += "; --best-effort goes on without this one"
	}
	return hint
}

// forgoable are the layers that --best-effort does without.
var forgoable = map[string]bool{"namespaces": true, "landlock": true}

// jailText is what stood around a build, for people and escaped: the level, and a line for each
// layer that was skipped.
func jailText(report jail.Report) []string {
	level := "the record does not say at which level"
	if report.Level != "" {
		level = "level " + escape.Line(string(report.Level))
	}
	return append([]string{level}, skippedLayers(report)...)
}

func skippedLayers(report jail.Report) []string {
	var lines []string
	for _, layer := range report.Layers {
		if layer.State != jail.Enforced {
			lines = append(lines, layerLine(layer))
		}
	}
	return lines
}

// layerLine is one layer of a report, escaped: "cgroup: skipped (no controllers; ENODEV; mount them)".
func layerLine(layer jail.Layer) string {
	line := escape.Line(layer.Name) + ": " + escape.Line(layer.State)
	var why []string
	for _, part := range []string{layer.Reason, layer.Errno, layer.Remedy} {
		if part != "" {
			why = append(why, escape.Line(part))
		}
	}
	if len(why) > 0 {
		line += " (" + strings.Join(why, "; ") + ")"
	}
	return line
}
