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
)

// Exit is how a command ended.
type Exit struct {
	// Code is the exit status, or -1 when a signal ended the command.
	Code int
	// Signal is the name of the signal that ended it, or empty.
	Signal string
	// Bound names the limit that ended it, where that is known. Memory is read
	// from the last words of the Go runtime and is only as good as they are.
	Bound string
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
	case e.Bound != "":
		text += " (" + e.Bound + ")"
	}
	return text
}
