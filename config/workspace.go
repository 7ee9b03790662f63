package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/loomext/loomext/internal/tomlfile"
)

// The bounds on what is protected in a workspace.
const (
	// maxProtected is how many entries there are: an operator reads each of them, and each write is held against all.
	maxProtected = 256
	// maxComponent is the length of a part of a path, in bytes: the system's own bound.
	maxComponent = 255
)

func (d *decoder) workspace(n tomlfile.Node) {
	s, ok := d.faults.Open("workspace", n)
	if !ok {
		return
	}
	n, ok = s.Get("protected")
	if !ok {
		return
	}
	items, _ := s.Array(n, "protected", maxProtected, "names or paths")
	for _, item := range items {
		text, ok := s.Text(item, "protected", maxPath, "")
		if !ok {
			continue
		}
		if msg := notInside(text); msg != "" {
			s.Fault(item, "protected", tomlfile.Quote(text)+" "+msg, `write a name, like ".env", or a path relative to the workspace, like "deploy/keys"`)
			continue
		}
		if s.Distinct(item, "protected", text, d.c.Workspace.Protected) {
			d.c.Workspace.Protected = append(d.c.Workspace.Protected, text)
		}
	}
}

// notInside says why a path names nothing in a workspace, or nothing.
func notInside(text string) string {
	parts := strings.Split(text, "/")
	switch {
	case parts[0] == "":
		return "is absolute"
	case slices.Contains(parts, ".."):
		return "leads upwards"
	case slices.Contains(parts, "") || slices.Contains(parts, "."):
		return "has a part that names nothing"
	case slices.ContainsFunc(parts, func(part string) bool { return len(part) > maxComponent }):
		return "has a part of more than " + strconv.Itoa(maxComponent) + " bytes"
	}
	return ""
}
