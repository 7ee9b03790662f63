package workspace

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loomext/loomext/internal/wire"
)

// The bounds on a path, in bytes: the system's own.
const (
	MaxPath = 4096
	MaxName = 255
)

// top is the path of the workspace itself.
const top = "."

// place is a path that was judged: relative, with slashes, without "..", and in its shortest form.
type place struct {
	text  string
	parts []string // none for the workspace itself
}

// dir and name are the two halves of a place that is not the workspace itself.
func (p place) dir() place {
	parts := p.parts[:len(p.parts)-1]
	if len(parts) == 0 {
		return place{text: top}
	}
	return place{strings.Join(parts, "/"), parts}
}

func (p place) name() string { return p.parts[len(p.parts)-1] }

// parse judges the path of a call. One that means the same as another is refused with a hint at it: a path is what
// records and locks know a file by.
func parse(text string) (place, error) {
	invalid := func(msg string) (place, error) { return place{}, refuse(wire.CodeInvalidArgument, msg) }
	switch {
	case text == "":
		return invalid(`path is empty; "." is the workspace itself`)
	case len(text) > MaxPath:
		return invalid("path has " + strconv.Itoa(len(text)) + " bytes; at most " + strconv.Itoa(MaxPath))
	case !utf8.ValidString(text):
		return invalid("path is no UTF-8; a file with such a name cannot be reached")
	case strings.IndexByte(text, 0) >= 0:
		return invalid("path holds a NUL; leave it out")
	case text == top:
		return place{text: top}, nil
	case text[0] == '/':
		return invalid("path is absolute; name the file relative to the workspace")
	}
	parts := strings.Split(text, "/")
	for _, part := range parts {
		switch {
		case part == "..":
			return invalid(`path has ".."; name the file relative to the workspace, with nothing above it`)
		case part == "" || part == ".":
			return invalid("path has an empty part or \".\"; write " + quoted(path.Clean(text)))
		case len(part) > MaxName:
			return invalid("the part " + quoted(part) + " has " + strconv.Itoa(len(part)) + " bytes; at most " + strconv.Itoa(MaxName))
		}
	}
	if filepath.Separator == '\\' && strings.ContainsAny(text, `\:`) || !filepath.IsLocal(filepath.FromSlash(text)) {
		return invalid("path is none that this system keeps inside a directory; use plain names and slashes")
	}
	return place{text, parts}, nil
}
