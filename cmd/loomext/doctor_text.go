package main

import (
	"fmt"
	"strings"

	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
)

// colors are the sequences around a word that says how something is; all empty where there
// is no color.
type colors struct{ good, bad, faint, off string }

const colorBad = "\x1b[31m"

// colorsOf decides for a stream as progress does for standard error.
func (c *cli) colorsOf(w any) colors {
	if term := c.env("TERM"); !isTerminal(w) || term == "" || term == "dumb" || c.env("NO_COLOR") != "" {
		return colors{}
	}
	return colors{good: colorDone, bad: colorBad, faint: colorDim, off: colorOff}
}

// remedyWidth is where a remedy is broken into lines.
const remedyWidth = 100

// doctorText is an examination for people, escaped.
func doctorText(r doctorResult, paint colors) string {
	var w strings.Builder
	w.WriteString("machine: " + escape.Line(machineText(r.Machine)) + "\n\n")
	var names, states int
	for _, check := range r.Checks {
		names, states = max(names, len(check.Name)), max(states, len(check.State))
	}
	for _, check := range r.Checks {
		color := map[string]string{install.StateOK: paint.good, install.StateFailed: paint.bad}[check.State]
		w.WriteString(padded(check.Name, names) + "  " + colored(color, check.State, states, paint.off))
		w.WriteString("  " + escape.Indented(check.Detail, strings.Repeat(" ", names+states+4)) + "\n")
		remedyText(&w, check.Remedy)
		if check.Name == checkJail {
			layersText(&w, r.Jail.Layers, check.Remedy, paint)
		}
	}
	w.WriteString("\n" + conclusion(r) + "\n")
	return w.String()
}

func machineText(m doctorMachine) string {
	text := m.Platform
	if m.Kernel != "" {
		text += ", kernel " + m.Kernel
	}
	if m.Distribution != "" {
		text += ", " + m.Distribution
	}
	if m.Container != "" {
		text += ", in a container (" + m.Container + ")"
	}
	return text
}

// layersText lists the walls, the remedy of a missing one below it unless it was told.
func layersText(w *strings.Builder, layers []doctorLayer, told string, paint colors) {
	width := 0
	for _, l := range layers {
		width = max(width, len(l.Name))
	}
	for _, l := range layers {
		color := paint.faint
		if l.State == jail.Enforced {
			color = paint.good
		} else if forgoable[l.Name] {
			color = paint.bad
		}
		line := "  " + padded(l.Name, width) + "  " + colored(color, l.State, len(jail.Enforced), paint.off)
		if reason := layerReason(l); reason != "" {
			line += "  " + escape.Line(reason)
		}
		w.WriteString(strings.TrimRight(line, " ") + "\n")
		if !strings.Contains(told, l.Remedy) {
			remedyText(w, l.Remedy)
		}
	}
}

// remedyText adds what to do, indented.
func remedyText(w *strings.Builder, remedy string) {
	if remedy == "" {
		return
	}
	const indent = "      "
	for i, line := range wrap(escape.Line(remedy), remedyWidth) {
		if i == 0 {
			line = "→ " + line
		} else {
			line = "  " + line
		}
		w.WriteString(indent + line + "\n")
	}
}

// conclusion is the last line: what follows from the checks.
func conclusion(r doctorResult) string {
	level := string(r.Jail.Level)
	switch {
	case !r.OK && r.BestEffort:
		return "An install and a call do not work here, not with --best-effort either."
	case !r.OK:
		return "An install and a call do not work here as things are."
	case !r.Complete:
		return "What was checked is in order; nothing was built or called."
	case !r.Jail.Level.Default():
		return "An install and a call work here with --best-effort alone, at the weaker jail level " + level + "."
	}
	return "An install and a call work here, at the jail level " + level + "."
}

// spaceText is room on a disk for people.
func spaceText(n int64) string {
	const gibi = 1 << 30
	if n < gibi {
		return bytesText(n)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/gibi)
}

func padded(s string, width int) string {
	return s + strings.Repeat(" ", max(width-columns(s), 0))
}

// colored pads a word and colors it without the padding.
func colored(color, word string, width int, off string) string {
	pad := strings.Repeat(" ", max(width-columns(word), 0))
	if color == "" {
		return word + pad
	}
	return color + word + off + pad
}
