package jail

import (
	"strconv"
	"time"
)

// Bounds an Exit can name.
const (
	BoundCPU      = "cpu limit"
	BoundMemory   = "memory limit"
	BoundFileSize = "file size limit"
	// BoundProcesses is the number of threads and processes.
	BoundProcesses = layerProcesses
	// BoundSystemCall is a call that the filter refused.
	BoundSystemCall = layerFilter
)

// Exit is how a command ended.
type Exit struct {
	// Code is the exit status, or -1 when a signal ended the command.
	Code int
	// Signal is the name of the signal that ended it, or empty.
	Signal string
	// Bound names the limit that ended it, where that is known. Memory and
	// processes are read from the last words of the Go runtime and are only as
	// good as they are.
	Bound string
	// Call is the name of the system call that the filter refused, where it is known.
	Call string
	// Killed says that the host ended it: Kill was called or the context ended.
	Killed bool
	// CPU is processor time of the command and the children it waited for.
	CPU time.Duration
	// ResidentBytes is the most memory it had resident.
	ResidentBytes int64
}

// OK says that the command ended by itself with status 0.
func (e Exit) OK() bool { return e.Code == 0 && e.Signal == "" && !e.Killed }

// String says how the command ended: "exit status 2", "SIGKILL (cpu limit)".
func (e Exit) String() string {
	text := "exit status " + strconv.Itoa(e.Code)
	if e.Signal != "" {
		text = e.Signal
	}
	switch {
	case e.Killed:
		text += " (ended by the host)"
	case e.Call != "":
		text += " (" + e.Bound + ": " + e.Call + ")"
	case e.Bound != "":
		text += " (" + e.Bound + ")"
	}
	return text
}
