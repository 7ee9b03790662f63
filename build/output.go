package build

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vendorize"
)

const (
	// maxFindings is how many compiler errors are told; the compiler itself stops at ten in each package.
	maxFindings = 20
	// maxFinding is the longest text of one, in bytes: type names of generic code have no end of their own.
	maxFinding = 600
)

// lookForBomb is what to do about a build that came to a bound.
const lookForBomb = "look for code that is small to write and huge to compile"

// Error is a build that failed: what is wrong, and what to do about it. Its text has the layer, compile, on every line.
type Error struct {
	// Place is a file or a program, where one is to blame that is not in Findings.
	Place string
	What  string
	Fix   string
	// Findings are the compiler's errors, in its order and by paths of the extension's tree.
	Findings []Finding
	// Stderr is what the go command wrote, bounded, as it came.
	Stderr string
	Err    error

	// nothingCompiled says that the go command gave up before it ran a compiler.
	nothingCompiled bool
}

// Finding is one compiler error.
type Finding struct {
	Path      string // slash path below the build root
	Line, Col int    // Col is 0 where the go command names none
	What      string
}

func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	if len(e.Findings) == 0 {
		text := "compile: "
		if e.Place != "" {
			text += e.Place + ": "
		}
		text += e.What
		if e.Fix != "" {
			text += "; " + e.Fix
		}
		return text
	}
	var lines []string
	for i, f := range e.Findings {
		if i == maxFindings {
			lines = append(lines, fmt.Sprintf("compile: and %d more; mend these first", len(e.Findings)-i))
			break
		}
		lines = append(lines, "compile: "+f.String())
	}
	return strings.Join(lines, "\n")
}

// String is "tool/run.go:12:2: what", with whose code it is where that is not the extension's.
func (f Finding) String() string {
	text := f.Path + ":" + strconv.Itoa(f.Line)
	if f.Col > 0 {
		text += ":" + strconv.Itoa(f.Col)
	}
	text += ": "
	switch top, _, _ := strings.Cut(f.Path, "/"); top {
	case vendorize.SatelliteDir:
		text += "(in the rendered program) "
		if strings.HasPrefix(f.What, "cannot use ext_entry_") || strings.HasPrefix(f.What, "undefined: ext_entry_") {
			return text + f.What + "; give the entry package the function that its table in extension.toml stands for"
		}
	case "vendor":
		return text + "(in loomext's own code) " + f.What + "; this is a fault of loomext or of the Go installation, report it"
	}
	return text + f.What
}

var position = regexp.MustCompile(`^(?:\./)?([^\s:]+\.go):([0-9]{1,9})(?::([0-9]{1,9}))?: (.*)$`)

// explain turns what a failed go build wrote into an Error.
func explain(stderr string, exit jail.Exit, bound bounds) error {
	e := &Error{Stderr: stderr, Err: errors.New(exit.String())}
	var rest []string
	compiled := false // the go command heads what a compiler or the linker said with a line that begins so
	for line := range strings.Lines(stderr) {
		line = strings.TrimRight(line, "\r\n")
		switch m := position.FindStringSubmatch(line); {
		case m != nil:
			f := Finding{Path: m[1], What: printable(m[4])}
			f.Line, _ = strconv.Atoi(m[2])
			f.Col, _ = strconv.Atoi(m[3])
			if strings.HasPrefix(f.What, "internal compiler error") {
				f.What = "the Go compiler crashed: " + f.What + "; simplify this code, or use another version of Go"
			}
			e.Findings = append(e.Findings, f)
		case strings.HasPrefix(line, "\t") && len(e.Findings) > 0:
			last := &e.Findings[len(e.Findings)-1]
			last.What = printable(last.What + " " + strings.TrimSpace(line))
		case strings.HasPrefix(line, "# "):
			compiled = true
		case line == "":
		default:
			rest = append(rest, strings.TrimSpace(line))
		}
	}
	// Lines with a position quote the source, so what ended the compiler is looked for in the others alone.
	unplaced := strings.Join(rest, "\n")
	if what, do := boundOf(unplaced, exit, bound); what != "" {
		e.What, e.Fix, e.Findings = what, do, nil
		return e
	}
	e.nothingCompiled = exit.Signal == "" && !compiled
	if len(e.Findings) == 0 {
		e.What = "go build failed: " + exit.String()
		if len(rest) > 0 {
			e.What += ": " + printable(strings.Join(rest, " "))
		}
	}
	return e
}

// boundOf recognizes a build that ended at a bound or for want of room. What the go command says of a compiler it ran
// and lost is all there is to go by: only the go command's own end is in exit.
func boundOf(said string, exit jail.Exit, bound bounds) (what, do string) {
	has := func(text string) bool { return strings.Contains(said, text) }
	switch {
	case exit.Bound == jail.BoundSystemCall || has("signal: bad system call"):
		call := "a system call"
		if exit.Call != "" {
			call = "the system call " + exit.Call
		}
		return "the compiler was ended for " + call + ", which a build may not make", "build with a version of Go that this loomext knows, or look at what the extension does to the compiler"
	case has("signal: killed") && exit.CPU < bound.cpu/2:
		return "the compiler was killed by the system, as it does when memory runs out", "free some memory, or " + lookForBomb
	case exit.Bound == jail.BoundCPU || has("signal: cpu time limit exceeded") || has("signal: CPU time limit exceeded") || has("signal: killed"):
		return fmt.Sprintf("the compiler was ended at its bound of %s of processor time", bound.cpu), lookForBomb
	case exit.Bound == jail.BoundMemory || has("out of memory") || has("cannot allocate memory"):
		return fmt.Sprintf("the compiler needs more than its bound of %d MiB of memory", bound.data>>20), lookForBomb
	case exit.Bound == jail.BoundFileSize || has("signal: file size limit exceeded") || has("file too large"):
		return fmt.Sprintf("the compiler wrote more than its bound of %d MiB into one file", bound.file>>20), lookForBomb
	case has("no space left on device"):
		return "no space left on device while compiling", "free some room, or name another cache directory"
	case has("fatal error: ") || has("SIGSEGV"):
		// Go's own runtime often meets the end of its memory as a fault somewhere else.
		return fmt.Sprintf("the Go toolchain crashed, as it may at its bound of %d MiB of memory: %s", bound.data>>20, printable(said)), lookForBomb
	}
	return "", ""
}

// printable bounds a text and escapes what a terminal would not print: compiler errors quote the extension's source.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if b.Len() > maxFinding {
			b.WriteString("…")
			break
		}
		if r == '…' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// storage says that the cache directory would not take or give a file.
func storage(err error) error {
	if err == nil {
		return nil
	}
	var have *Error
	if errors.As(err, &have) {
		return err
	}
	e := &Error{What: "the cache directory: " + err.Error(), Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Fix = "free some room, or name another cache directory"
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		e.Fix = "make it writable for you, or name another cache directory"
	case errors.Is(err, syscall.EFBIG):
		e.Fix = "raise the limit on file sizes (ulimit -f), or name another cache directory"
	}
	return e
}
