package jail

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// WorkspaceDir is where a Proc finds its workspace, and where it starts.
const WorkspaceDir = "/workspace"

// maxGuarded bounds the calls of a launch, as [maxPaths] does: each path takes three.
const maxGuarded = 128

// Workspace is the directory that a Proc works on. Whoever owns it owns what the command
// makes there: where the host is root, the command is a user of its own and the
// kernel translates between the two.
type Workspace struct {
	// Dir is the directory, open. It is this very directory that the command gets,
	// whatever its name leads to meanwhile. What is mounted below it is seen too.
	Dir *os.File
	// Writable lets the command write there. What it writes it may execute.
	Writable bool
	// Guarded are paths in the workspace that the command may read and not write, move
	// or remove although it is Writable, with what is below them. Each is there, and no link.
	Guarded []string
}

// checkWorkspace is the part of check about the workspace, and about what only a Proc has.
func (s *Spec) checkWorkspace() error {
	switch {
	case s.Profile != Proc && s.Workspace == nil:
		return nil
	case s.Profile != Proc:
		return &Error{Place: "program", What: "only a command has a workspace"}
	case s.Workspace == nil || s.Workspace.Dir == nil:
		return &Error{Place: "program", What: "a command is launched over a workspace", Fix: "name one"}
	case s.Image != nil || len(s.Writable) > 0:
		return &Error{Place: "program", What: "a command is a program of the system and writes in its workspace alone"}
	case len(s.Workspace.Guarded) > maxGuarded:
		return &Error{Place: "program", What: "more than " + strconv.Itoa(maxGuarded) + " paths to guard", Fix: "guard the directories above them"}
	}
	for _, path := range s.ReadOnly {
		if slices.ContainsFunc(ownDirs, func(dir string) bool { return under(path, dir) }) || under(WorkspaceDir, path) || under("/etc", path) || under("/tmp", path) {
			return &Error{Place: "program", What: "a command cannot be let reach " + quoted(path), Fix: "name a directory of a program, outside " + strings.Join(ownDirs, " and ")}
		}
	}
	for _, path := range s.Workspace.Guarded {
		if !filepath.IsLocal(path) || filepath.Clean(path) != path || path == "." || strings.IndexByte(path, 0) >= 0 || strings.Count(path, "/") > maxDepth {
			return &Error{Place: "program", What: quoted(path) + " is no path in the workspace"}
		}
	}
	return nil
}

// ownDirs are the directories of a command's root that hold nothing of the machine's.
var ownDirs = []string{"/dev", "/proc", WorkspaceDir}

// systemPaths are what every command may read and execute: the programs of the system and what
// the loader of shared libraries needs of /etc. Those that are links, as /bin on most
// systems, are made again as [systemLinks].
func systemPaths() []string {
	var paths []string
	for _, path := range append(slices.Clone(systemDirs), "/etc/alternatives", "/etc/ld.so.cache") {
		if info, err := os.Lstat(path); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			paths = append(paths, path)
		}
	}
	return paths
}

var systemDirs = []string{"/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr"}

// systemLinks are the links among the directories of the system, with where they lead.
func systemLinks() map[string]string {
	links := map[string]string{}
	for _, path := range systemDirs {
		if target, err := os.Readlink(path); err == nil {
			links[path] = target
		}
	}
	return links
}
