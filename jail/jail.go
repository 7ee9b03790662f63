// Package jail turns a [Spec] into a running command, and says in a [Report]
// which walls stood around it.
//
// Everything foreign that the project runs goes through [Start]: the Go
// toolchain that compiles an extension and the satellite that serves it. The
// caller names a program, its exact arguments and environment, the descriptors
// it inherits and its limits, and gets a [Command] to wait for or to kill.
//
// There are five kinds of program. A satellite is one process that sees no file
// and talks over the descriptors it was given; a build is a tree of processes that
// reads and writes the paths of its Spec; a test is a build that may run what it
// made; a command of the capability proc is a tree of the system's own programs over one
// directory; a plain program is the system's own and has limits alone. All but the last have
// namespaces, a root of their own, a user of their own where the host is root, Landlock, no
// capability and a system call filter. The report names the [Level] of what stood,
// and a machine that lacks a demanded wall gets a refusal unless the caller
// accepts less. Nothing starts without the filter.
//
// The package is not a build tool and not a supervisor: it restarts nothing,
// knows no protocol and interprets no output.
//
// Invariants:
//
//   - No instruction of the program runs before every wall stands. The child is a
//     table of system calls that ends in exec; there is no intermediate program and
//     no Go in it. The steps that write the table are the report.
//   - Nothing stands between the filter and exec: a refused call waits for the
//     host, which waits for the exec.
//   - Every fork happens on one operating system thread, which lives at least
//     as long as any child: the death signal follows the thread that forked,
//     not the process.
//   - A Command that was started is always reaped, its process group killed
//     first, so that an identifier is never used after it was given up.
//   - [Command.Done] closes only after the program is gone, its output was read
//     to the end or given up after a bounded wait, and nothing of the Command
//     is left in this process.
//   - A Proc starts with namespaces or not at all, whatever is accepted otherwise.
//   - The host keeps, for the life of its process, the descriptors of the shared
//     namespaces, of the empty Landlock rule set, of one pair of sockets, of a null
//     device at 255, of the first process of a Proc and, as root, of some user namespaces,
//     and one page of memory at 16 GiB.
package jail

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Main is called first thing in the main function of a program that starts
// jailed children. Where the program was started as one of its own stages (see
// [Register]), Main runs that and does not return; else it returns at once.
func Main() { enterStage(os.Args, os.Getenv) }

// Options say how the jail behaves on this machine, as against what one command
// needs.
type Options struct {
	// Helper is the path of a loomext binary for a host program that does not
	// call [Main]: its stages run in place of the program's own.
	Helper string

	// BestEffort accepts a weaker level than the default demands: a launch
	// without namespaces, or without Landlock. The report says which. Nothing
	// starts without the system call filter.
	BestEffort bool

	// Trace has a program die of the first call that the filter refuses in a way
	// that a Go program reports, with the place it was made from. It is for
	// authors: the program may catch the signal and go on, though never with the
	// call.
	Trace bool

	without []string // layers to leave out, for the package's own tests
}

// Profile is what kind of program runs. It supplies the limits a Spec leaves
// unset, and will choose among the walls.
type Profile uint8

const (
	// Plain is a program of the system itself that is trusted as such: the limits
	// of its Spec, and no walls.
	Plain Profile = iota
	// Build is a compiler run: many processes, files only under the paths of its
	// Spec, nothing that it writes may be executed. No limits by default.
	Build
	// Test is a Build that may execute what it writes.
	Test
	// Satellite is an extension: one process that sees no file at all.
	Satellite
	// Proc is a command of the capability proc: programs of the system over a
	// [Workspace]. Its first process is one of the jail's own, which starts the
	// program, clears up after what loses its parent, and ends with the program's status;
	// a program that a signal n ended is status 128+n, one that could not be started 126 or 127.
	Proc
)

// Nothing, as a limit, allows nothing at all, where zero means not set.
const Nothing = -1

// DataFloor is the memory a Go program needs before its first allocation, as
// RLIMIT_DATA counts it. A data limit is this plus a budget.
const DataFloor = 44 << 20

const (
	// A satellite holds its socket, the three standard streams and what the Go
	// runtime opens for polling: 64 leaves room and stops a descriptor bomb.
	satelliteDescriptors = 64
	// Go reserves address space freely, 1.1 GB fails at once: 4 GiB is only a
	// ceiling on page tables.
	satelliteAddressBytes = 4 << 30
	// A Go program's own threads count as processes; 16 is what it needs on a
	// small machine with nothing left for a bomb.
	satelliteProcesses = 16
	// A build has some hundred processes and threads on a large machine, and a bomb
	// as many as there is room for.
	buildProcesses = 4096
	// A command has some dozen processes, and threads for each.
	procProcesses = 1024
)

const (
	// maxFiles leaves a satellite's descriptor limit room for its own.
	maxFiles = 16
	// maxPaths and maxDepth bound the calls of a launch: each path is opened and
	// mounted, and each of its directories made.
	maxPaths    = 24
	maxDepth    = 20
	maxDirDepth = 64
)

// Limits bound what a command may use. Zero leaves a limit to the profile;
// Nothing allows none at all.
type Limits struct {
	// CPU is processor time of each process, rounded up to whole seconds. The
	// process is killed at the bound.
	CPU time.Duration
	// DataBytes is private writable memory: heap, stacks, anonymous mappings.
	DataBytes int64
	// AddressBytes is the size of the address space.
	AddressBytes int64
	// FileBytes is the largest size a file may be written to.
	FileBytes int64
	// Processes is the number of processes and threads.
	Processes int
	// Descriptors is one more than the highest descriptor number.
	Descriptors int
}

func (p Profile) fill(l Limits) Limits {
	if l.Processes == 0 {
		switch p {
		case Build, Test:
			l.Processes = buildProcesses
		case Proc:
			l.Processes = procProcesses
		}
	}
	if p != Satellite {
		return l
	}
	if l.FileBytes == 0 {
		l.FileBytes = Nothing
	}
	if l.Descriptors == 0 {
		l.Descriptors = satelliteDescriptors
	}
	if l.AddressBytes == 0 {
		l.AddressBytes = satelliteAddressBytes
	}
	if l.Processes == 0 {
		l.Processes = satelliteProcesses
	}
	return l
}

// Spec is one command to run. Nothing of the host is inherited that it does not
// name.
type Spec struct {
	// Path is the program, absolute. It becomes argument 0 as well.
	Path string
	// Image, if not nil, is executed instead of what is at Path.
	Image *Image
	// Args are the arguments after argument 0.
	Args []string
	// Env is the whole environment, as NAME=value.
	Env []string
	// Dir is the working directory, absolute; empty is the root directory.
	Dir string
	// Stdin becomes descriptor 0; nil is the null device. The caller keeps its own, like Files.
	Stdin *os.File
	// Files become descriptors 3, 4, … of the program. The caller keeps its
	// own and closes them when it wants to.
	Files []*os.File
	// Stdout takes what the program writes to descriptor 1, from one goroutine
	// that has ended when Done closes. Nil is the null device. A Write that
	// fails ends the taking, not the program.
	Stdout io.Writer
	// Joined sends descriptor 1 where descriptor 2 goes, so that what is kept of
	// standard error is both, in the order written. Stdout is nil then.
	Joined bool
	// StderrCap is how many bytes of standard error are kept, the first and the
	// last of them; zero is DefaultStderrCap. All of it is always read.
	StderrCap int
	// Stderr, if not nil, takes all of standard error as it comes, beside what is
	// kept, from one goroutine that has ended when Done closes. What a Write returns
	// is not looked at; one that waits makes the program wait.
	Stderr io.Writer
	// Limits bound the command.
	Limits Limits
	// ReadOnly and Writable are the paths a Build or Test may reach, absolute: what it may
	// read and execute, and the directories it may write as well. It finds them under the same
	// names and finds nothing else but the null device. Where the host is root,
	// the directories of Writable with all that is in them are given to the user that the
	// program is made. A Proc has ReadOnly as well, beside the system's programs, and
	// the other profiles have none.
	ReadOnly, Writable []string
	// Workspace is what a Proc works on. The other profiles have none.
	Workspace *Workspace
	// Profile is the kind of program.
	Profile Profile
}

// Error is a refusal to start or a failure to watch a command.
type Error struct {
	Place string // the step or layer that failed, or the program
	What  string
	Fix   string
	Err   error // the cause, often a syscall.Errno
}

func (e *Error) Error() string {
	text := "jail: " + e.Place + ": " + e.What
	if e.Err != nil {
		text += " (" + e.Err.Error() + ")"
	}
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// check refuses a Spec that cannot mean what its caller thinks it means.
func (s *Spec) check() error {
	switch {
	case !filepath.IsAbs(s.Path):
		return &Error{Place: "program", What: quoted(s.Path) + " is not an absolute path", Fix: "name the program by its absolute path"}
	case s.Dir != "" && !filepath.IsAbs(s.Dir):
		return &Error{Place: "program", What: "the working directory " + quoted(s.Dir) + " is not an absolute path", Fix: "name it by its absolute path"}
	}
	switch {
	case s.Profile == Satellite && s.Image == nil:
		return &Error{Place: "program", What: "a satellite is launched from an image", Fix: "seal the program first"}
	case len(s.Files) > maxFiles:
		return &Error{Place: "descriptors", What: "more than " + strconv.Itoa(maxFiles) + " files to hand over", Fix: "hand over fewer"}
	case len(s.ReadOnly)+len(s.Writable) > maxPaths:
		return &Error{Place: "program", What: "more than " + strconv.Itoa(maxPaths) + " paths to reach", Fix: "name the directories above them"}
	}
	for _, path := range slices.Concat(s.ReadOnly, s.Writable) {
		if !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" || under(path, "/proc") {
			return &Error{Place: "program", What: "a program cannot be let reach " + quoted(path), Fix: "name an absolute, clean path other than the root, outside /proc"}
		}
		if strings.Count(path, "/") > maxDepth {
			return &Error{Place: "program", What: quoted(path) + " is too deep", Fix: "use a path of fewer directories"}
		}
	}
	if s.Dir != "" && (filepath.Clean(s.Dir) != s.Dir || strings.Count(s.Dir, "/") > maxDirDepth) {
		return &Error{Place: "program", What: "the working directory " + quoted(s.Dir) + " is not a clean path, or too deep", Fix: "use a path without dots and of fewer directories"}
	}
	if err := s.checkWorkspace(); err != nil {
		return err
	}
	if s.Joined && s.Stdout != nil {
		return &Error{Place: "output", What: "standard output is joined to standard error and has a writer of its own", Fix: "choose one of them"}
	}
	for _, list := range [][]string{{s.Path, s.Dir}, s.Args, s.Env, s.ReadOnly, s.Writable} {
		for _, text := range list {
			if strings.IndexByte(text, 0) >= 0 {
				return &Error{Place: "program", What: "a path, argument or variable holds a zero byte: " + quoted(text), Fix: "remove it"}
			}
		}
	}
	for _, variable := range s.Env {
		if strings.IndexByte(variable, '=') <= 0 {
			return &Error{Place: "environment", What: quoted(variable) + " is not NAME=value", Fix: "give every variable a name and a value"}
		}
	}
	return nil
}

// under says that a clean path is dir or below it.
func under(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// Start runs a command. It returns once the program stands behind its walls
// and has been let go, or with an error and nothing left behind. When ctx ends
// the command is killed; a ctx that has ended starts nothing.
func Start(ctx context.Context, s Spec, o Options) (*Command, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Error{Place: s.Path, What: "not started", Err: err}
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	s.Limits = s.Profile.fill(s.Limits)
	if s.Dir == "" {
		s.Dir = "/"
	}
	if s.Profile == Proc {
		s.Dir = cmp.Or(strings.TrimSuffix(s.Dir, "/"), WorkspaceDir)
		image, err := firstProcess()
		if err != nil {
			return nil, err
		}
		s.Image = image
		s.ReadOnly = append(systemPaths(), s.ReadOnly...)
	}
	return start(ctx, s, o)
}
