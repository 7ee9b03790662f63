package workspace

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/loomext/loomext/internal/wire"
)

// protectedNames are never written, wherever they stand: what git runs and obeys, what the host keeps, what agents and
// editors take their settings from, and what a shell runs on entering a directory.
var protectedNames = []string{".git", ".loom", ".claude", ".codex", ".gemini", ".vscode", ".envrc"}

// Protected are the names that are never written in any workspace, at any depth, with all that lies below them.
func Protected() []string { return slices.Clone(protectedNames) }

// protection is what is never written in one workspace.
type protection struct {
	names nameSet
	paths map[string]string // folded, with slashes; to the spelling it was given in
}

// nameSet is folded names, to the spelling they were given in.
type nameSet map[string]string

// protect adds to the names that are always protected.
func protect(more []string) (protection, error) {
	p := protection{names: nameSet{}, paths: map[string]string{}}
	for _, name := range protectedNames {
		p.names[fold(name)] = name
	}
	for _, text := range more {
		at, err := parse(text)
		if err != nil || at.text == top {
			return p, refuse(wire.CodeInvalidArgument, quoted(text)+" cannot be protected; want a name, or a path relative to the workspace with slashes")
		}
		if len(at.parts) == 1 {
			p.names[fold(text)] = text
		} else {
			p.paths[foldPath(at.parts)] = text
		}
	}
	return p, nil
}

// refusal is why nothing may be written at a place, or nil.
func (p protection) refusal(at place) error {
	said := func(what string) error {
		return refuse(wire.CodePermissionDenied, quoted(what)+" is protected, with all that is in it: it may be read and never written")
	}
	for i, part := range at.parts {
		if name, is := p.names.match(part); is {
			return said(name)
		}
		if len(p.paths) > 0 {
			if text, is := p.paths[foldPath(at.parts[:i+1])]; is {
				return said(text)
			}
		}
	}
	return nil
}

// match says which of the names a component is, for any file system.
func (s nameSet) match(component string) (string, bool) {
	folded := fold(component)
	if name, is := s[folded]; is {
		return name, true
	}
	// On a disk of Windows, .git may also be reached as GIT~1.
	stem, digits, short := strings.Cut(folded, "~")
	if !short || digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	for folded, name := range s {
		if stem == shortStem(folded) {
			return name, true
		}
	}
	return "", false
}

// shortStem is what a disk of Windows keeps of a long name before the ~ of its short one.
func shortStem(folded string) string {
	const most = 6
	stem := strings.NewReplacer(".", "", " ", "").Replace(folded)
	return stem[:min(len(stem), most)]
}

func foldPath(parts []string) string {
	folded := make([]string, len(parts))
	for i, part := range parts {
		folded[i] = fold(part)
	}
	return strings.Join(folded, "/")
}

// fold gives two names the same text where a file system might take them for one: such as ignore case, the form in
// which Unicode is written, or what does not show; end a name before trailing dots and spaces; or begin a stream of the
// file after a colon. It folds more than any single one of them.
func fold(name string) string {
	if !plain(name) {
		name = strings.ToValidUTF8(name, "\ufffd")
		name = cases.Fold().String(norm.NFKD.String(name))
		name = strings.Map(visible, norm.NFKD.String(name))
	}
	name = strings.ToLower(name)
	if at := strings.IndexByte(name, ':'); at > 0 {
		name = name[:at]
	}
	return strings.TrimRight(name, ". ")
}

func plain(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// visible drops what may be ignored in a name. The dotless i has the upper case of the dotted one.
func visible(r rune) rune {
	switch {
	case r == 'ı':
		return 'i'
	case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return -1
	}
	return r
}
