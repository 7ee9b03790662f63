package shell

import (
	"path"
	"strings"
)

// Run is one program that a line starts, and the words it gets.
type Run struct {
	// Program is the last element of its path. It is empty where the line does not say which.
	Program string
	Args    []Word
	// Writes are the files that its output is redirected to.
	Writes []Word
	// Root says that it runs by way of sudo, doas or the like.
	Root bool
	// From are the programs before it in its pipe, and those whose output is put into its words.
	From []string
}

// Runs are the programs of a line: of lists, pipes, substitutions, and of the programs that run
// others (sudo, env, xargs, sh -c, eval …).
func Runs(line string) (runs []Run, whole bool) {
	commands, whole := Parse(line)
	r := &reader{whole: whole}
	r.commands(commands, false, 0)
	return r.runs, r.whole
}

type reader struct {
	runs  []Run
	whole bool
}

// commands takes a list apart and returns the programs that run in the end.
func (r *reader) commands(commands []Command, root bool, depth int) (programs []string) {
	if depth > MaxDepth || len(r.runs) > MaxCommands {
		r.whole = false
		return nil
	}
	var before []string
	said := "" // what the command before puts into its pipe, where that stands in the line
	for _, c := range commands {
		if !c.Piped {
			before, said = nil, ""
		}
		from := append([]string{}, before...)
		from = append(from, r.commands(c.Inner, root, depth+1)...)
		input := c.Input
		if input == "" {
			input = said
		}
		run := r.one(c.Words, c.Redirects, from, root, depth)
		if ReadsScript(run) && input != "" {
			inner, whole := Parse(input)
			r.whole = r.whole && whole
			r.commands(inner, run.Root, depth+1)
		}
		said = ""
		switch run.Program {
		case "echo", "printf":
			said = strings.Join(texts(run.Args), " ")
		case "cat", "tee":
			said = input
		}
		before = append(before, run.Program)
		programs = append(programs, run.Program)
	}
	return programs
}

// one takes a simple command apart. It returns what runs in the end.
func (r *reader) one(words, writes []Word, from []string, root bool, depth int) Run {
	for len(words) > 0 && assignment(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		run := Run{Writes: writes, Root: root, From: from}
		if len(writes) > 0 {
			r.runs = append(r.runs, run)
		}
		return run
	}
	run := Run{Program: path.Base(words[0].Text), Args: words[1:], Writes: writes, Root: root, From: from}
	if words[0].Expands {
		run.Program = ""
	}
	r.runs = append(r.runs, run)
	if depth > MaxDepth {
		r.whole = false
		return run
	}
	if rest, asRoot, ok := wrapped(run); ok {
		if len(rest) == 0 {
			return run
		}
		return r.one(rest, writes, from, root || asRoot, depth+1)
	}
	if line, ok := scripted(run); ok {
		commands, whole := Parse(line)
		r.whole = r.whole && whole
		r.commands(commands, root || run.Program == "su", depth+1)
	}
	return run
}

// ReadsScript reports whether a program is a shell that runs what it reads from its input.
func ReadsScript(run Run) bool {
	if !Shells[run.Program] {
		return false
	}
	for i := 0; i < len(run.Args); i++ {
		w := run.Args[i]
		switch {
		case takesNext(w.Text):
			i++
		case w.Text == "-s" || w.Text == "--" || w.Text == "-":
			return true
		case !strings.HasPrefix(w.Text, "-"), strings.HasSuffix(w.Text, "c") && !strings.HasPrefix(w.Text, "--"):
			return w.Text == "/dev/stdin"
		}
	}
	return true
}

// takesNext reports whether a shell's option takes the next word: -o pipefail, also as -euo pipefail.
func takesNext(text string) bool {
	single := strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--")
	return single && (strings.HasSuffix(text, "o") || strings.HasSuffix(text, "O")) || text == "--rcfile" || text == "--init-file"
}

func texts(words []Word) []string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = w.Text
	}
	return parts
}

func assignment(w Word) bool {
	name, _, ok := strings.Cut(w.Text, "=")
	if !ok || name == "" {
		return false
	}
	for i, c := range []byte(name) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// wrappers are programs that run the words they get. The value lists the flags that take the
// next word.
var wrappers = map[string]string{
	"sudo": "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot --close-from", "doas": "-u -C", "su": "", "pkexec": "--user",
	"env": "-u -C -S --unset --chdir", "nohup": "", "nice": "-n --adjustment", "ionice": "-c -n -p --class --classdata", "setsid": "", "stdbuf": "-i -o -e",
	"timeout": "-s -k --signal --kill-after", "time": "-f -o", "xargs": "-I -i -n -P -L -d -E -s -a --max-args --max-procs --replace --delimiter --arg-file",
	"command": "", "builtin": "", "exec": "-a", "busybox": "", "chroot": "", "unshare": "", "strace": "-e -o -p", "watch": "-n --interval", "parallel": "-j",
}

var asRoot = map[string]bool{"sudo": true, "doas": true, "su": true, "pkexec": true}

// wrapped are the words that a wrapper runs.
func wrapped(run Run) (rest []Word, root, ok bool) {
	withValue, ok := wrappers[run.Program]
	if !ok {
		return nil, false, false
	}
	takes := map[string]bool{}
	for _, flag := range strings.Fields(withValue) {
		takes[flag] = true
	}
	words := run.Args
	positional := 0
	switch run.Program {
	case "timeout", "chroot":
		positional = 1
	case "su":
		return nil, true, false // su -c is read as a script
	}
	for len(words) > 0 {
		text := words[0].Text
		switch {
		case text == "--":
			words = words[1:]
			return words[min(positional, len(words)):], asRoot[run.Program], true
		case run.Program == "env" && (text == "-S" || strings.HasPrefix(text, "--split-string")):
			return nil, false, false
		case strings.HasPrefix(text, "-") && len(text) > 1:
			words = words[1:]
			if takes[text] && len(words) > 0 {
				words = words[1:]
			}
		case assignment(words[0]) && (run.Program == "env" || asRoot[run.Program]):
			words = words[1:]
		case positional > 0:
			positional--
			words = words[1:]
		default:
			return words, asRoot[run.Program], true
		}
	}
	return nil, asRoot[run.Program], true
}

// Shells read a line or a script and run what is in it.
var Shells = map[string]bool{"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true, "fish": true, "ash": true, "csh": true, "tcsh": true}

// scripted is the line that a shell, eval, su or find is given to run.
func scripted(run Run) (string, bool) {
	switch {
	case run.Program == "eval":
		return strings.Join(texts(run.Args), " "), true
	case run.Program == "env":
		for i, w := range run.Args {
			if w.Text == "-S" && i+1 < len(run.Args) {
				return strings.Join(texts(run.Args[i+1:]), " "), true
			}
			if line, ok := strings.CutPrefix(w.Text, "--split-string="); ok {
				return line, true
			}
		}
	case Shells[run.Program] || run.Program == "su" || run.Program == "ssh":
		for i := 0; i < len(run.Args); i++ {
			text := run.Args[i].Text
			// -c, and -c among others as in bash -lc
			isFlag := strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.HasSuffix(text, "c")
			switch {
			case (isFlag || text == "--command") && i+1 < len(run.Args):
				return run.Args[i+1].Text, true
			case takesNext(text):
				i++
			case Shells[run.Program] && !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "+"):
				return "", false // a script, and its own arguments
			}
		}
	case run.Program == "find":
		for i, w := range run.Args {
			if w.Text == "-exec" || w.Text == "-execdir" || w.Text == "-ok" || w.Text == "-okdir" {
				var words []Word
				for _, next := range run.Args[i+1:] {
					if next.Text == ";" || next.Text == "+" {
						break
					}
					words = append(words, next)
				}
				return quoted(words), true
			}
		}
	}
	return "", false
}

// quoted is words as a line that gives the same words.
func quoted(words []Word) string {
	parts := make([]string, len(words))
	for i, w := range words {
		parts[i] = "'" + strings.ReplaceAll(w.Text, "'", `'\''`) + "'"
	}
	return strings.Join(parts, " ")
}
