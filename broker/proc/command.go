package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// systemPath is where programs are looked for first. All of it is the system's: nobody but root puts a program there.
var systemPath = []string{"/usr/local/bin", "/usr/bin", "/bin"}

// judge is the program of a command that the terms allow, by its absolute path.
func (r *Runner) judge(q Request) (string, error) {
	if len(q.Argv) == 0 {
		return "", invalid("argv is empty; name a program")
	}
	if len(q.Argv) > MaxArguments {
		return "", invalid("argv has " + strconv.Itoa(len(q.Argv)) + " words; at most " + strconv.Itoa(MaxArguments))
	}
	size := 0
	for _, word := range q.Argv {
		size += len(word)
		if strings.IndexByte(word, 0) >= 0 {
			return "", invalid("argv holds a zero byte")
		}
	}
	switch {
	case size > MaxArgumentBytes:
		return "", tooLarge("the words of argv", size, MaxArgumentBytes)
	case len(q.Stdin) > MaxStdin:
		return "", tooLarge("the bytes of stdin", len(q.Stdin), MaxStdin)
	case q.Timeout < 0:
		return "", invalid("timeout_ms is negative")
	}
	if !r.allowed(q.Argv) {
		return "", &Error{NotAllowed, quoted(q.Argv) + " begins with none of the commands in [proc]; name it there"}
	}
	name := q.Argv[0]
	if name != filepath.Base(name) || name == "." || name == ".." {
		return "", &Error{NotAllowed, quoted(q.Argv[:1]) + " is a path, and programs are named by a name alone"}
	}
	return r.find(name)
}

// allowed says that the words begin with those of a command in the terms.
func (r *Runner) allowed(argv []string) bool {
	return slices.ContainsFunc(r.terms.Commands, func(prefix []string) bool {
		return len(prefix) > 0 && len(argv) >= len(prefix) && slices.Equal(argv[:len(prefix)], prefix)
	})
}

// find looks a name up in the path. The jail shows the same files under the same names.
func (r *Runner) find(name string) (string, error) {
	for _, dir := range r.path {
		file := dir + "/" + name
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", &Error{NotFound, quoted([]string{name}) + " is in none of " + strings.Join(r.path, ", ") +
		"; install it, or let commands read its directory with readable in [proc] of config.toml"}
}

// maxQuoted is how much of a command a message repeats, in bytes.
const maxQuoted = 64

func quoted(argv []string) string {
	text := strings.Join(argv, " ")
	if len(text) > maxQuoted {
		return strconv.QuoteToASCII(text[:maxQuoted]) + "…"
	}
	return strconv.QuoteToASCII(text)
}
