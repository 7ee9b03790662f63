// Package danger judges what a shell command would do. A rule looks at one program with its
// words, so that what is written, quoted or mentioned is not mistaken for what is run.
//
// It is a belt, not a wall: a command can be hidden from every reader of its text. What it is
// for is the mistake that looks like an ordinary command.
package danger

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/gate/shell"
)

// Verdict is why a command must not run.
type Verdict struct {
	Rule   string // what an operator allows it by
	Reason string // for the model: what would happen, and what to do instead
}

// rule judges one program. An empty reason is no objection.
type rule struct {
	name  string
	judge func(shell.Run) (reason string)
}

var rules = []rule{
	{"remove-root", removesRoot},
	{"remove-git", removesGit},
	{"overwrite-disk", overwritesDisk},
	{"overwrite-system-file", overwritesSystemFile},
	{"pipe-to-shell", pipesToShell},
	{"force-push", forcePushes},
	{"open-permissions", opensPermissions},
	{"power-off", powersOff},
	{"kill-all", killsAll},
	{"read-credentials", readsCredentials},
	{"destroy-infrastructure", destroysInfrastructure},
}

// Rules are the names of all rules, sorted.
func Rules() []string {
	names := []string{forkBomb, unreadable}
	for _, r := range rules {
		names = append(names, r.name)
	}
	slices.Sort(names)
	return names
}

// The rules that look at the whole line.
const (
	forkBomb   = "fork-bomb"
	unreadable = "unreadable"
)

// Judge gives the first objection to a line, or none. Rules that are allowed do not object.
func Judge(line string, allowed []string) (Verdict, bool) {
	if name := bomb(line); name != "" && !slices.Contains(allowed, forkBomb) {
		return Verdict{forkBomb, fmt.Sprintf("%s starts itself twice and never ends, which takes the machine down; leave it out", name)}, true
	}
	runs, whole := shell.Runs(line)
	for _, run := range runs {
		for _, r := range rules {
			if slices.Contains(allowed, r.name) {
				continue
			}
			if reason := r.judge(run); reason != "" {
				return Verdict{r.name, reason}, true
			}
		}
	}
	if !whole && !slices.Contains(allowed, unreadable) {
		return Verdict{unreadable, "the command is nested too deeply, or too long, to be judged; split it into steps"}, true
	}
	return Verdict{}, false
}

var function = regexp.MustCompile(`([^\s(){};|&]+)\s*\(\)\s*\{([^}]*)\}`)

// bomb is the name of a function that pipes itself into itself.
func bomb(line string) string {
	for _, m := range function.FindAllStringSubmatch(line, 20) {
		name, body := m[1], strings.Join(strings.Fields(m[2]), "")
		if strings.Contains(body, name+"|"+name) && strings.Contains(body, "&") {
			return name
		}
	}
	return ""
}

// flags are the short letters and the long names of a program's options, up to "--".
func flags(args []shell.Word) (short, long map[string]bool) {
	short, long = map[string]bool{}, map[string]bool{}
	for _, w := range args {
		switch text := w.Text; {
		case text == "--":
			return short, long
		case strings.HasPrefix(text, "--"):
			name, _, _ := strings.Cut(text[2:], "=")
			long[name] = true
		case strings.HasPrefix(text, "-"):
			for _, c := range text[1:] {
				short[string(c)] = true
			}
		}
	}
	return short, long
}

// operands are the words that are no options.
func operands(args []shell.Word) []shell.Word {
	var rest []shell.Word
	for i, w := range args {
		if w.Text == "--" {
			return append(rest, args[i+1:]...)
		}
		if !strings.HasPrefix(w.Text, "-") || w.Text == "-" {
			rest = append(rest, w)
		}
	}
	return rest
}
