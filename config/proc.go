package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomext/loomext/internal/tomlfile"
)

// Proc is what the commands of extensions may reach.
type Proc struct {
	// Readable are directories and files that commands may read and execute, beside the system's and their workspace. They
	// are absolute and clean; what they lead to is looked at when a command runs.
	Readable []string
}

// maxReadable is how many paths readable has: each is mounted for every command.
const maxReadable = 16

func (d *decoder) proc(n tomlfile.Node) {
	s, ok := d.faults.Open("proc", n)
	if !ok {
		return
	}
	n, ok = s.Get("readable")
	if !ok {
		return
	}
	items, ok := s.Array(n, "readable", maxReadable, "paths")
	if !ok {
		return
	}
	for _, item := range items {
		path, ok := s.Text(item, "readable", maxPath, "")
		if !ok || !s.Distinct(item, "readable", path, d.c.Proc.Readable) {
			continue
		}
		switch why := Unreadable(path); {
		case !filepath.IsAbs(path) || filepath.Clean(path) != path:
			s.Fault(item, "readable", tomlfile.Quote(path)+" is no absolute path in its shortest form", "write it from / on, without dots and without a / at its end")
			continue
		case why != "":
			s.Fault(item, "readable", tomlfile.Quote(path)+": "+why, "name the directory of one program")
			continue
		case d.dir != "" && (under(path, d.dir) || under(d.dir, path)):
			s.Fault(item, "readable", tomlfile.Quote(path)+" is this home, in it, or around it", "name the directory of one program")
			continue
		}
		d.c.Proc.Readable = append(d.c.Proc.Readable, path)
	}
}

// closedTrees hold nothing that a command is given as it is: what the jail makes itself, and what belongs to running programs.
var closedTrees = []string{"/proc", "/sys", "/dev", "/run", "/var/run", "/workspace"}

// closedDirs are too much: other people's things are below them.
var closedDirs = []string{"/", "/etc", "/home", "/root", "/tmp", "/var", "/mnt", "/media", "/boot"}

// Unreadable says why commands may not be let read an absolute, clean path; empty is that they may.
func Unreadable(path string) string {
	switch {
	case slices.Contains(closedDirs, path):
		return "more is in it than one program"
	case slices.ContainsFunc(closedTrees, func(dir string) bool { return under(path, dir) }):
		return "it is not shown to commands"
	}
	return ""
}

// under says that a clean path is dir or below it.
func under(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
