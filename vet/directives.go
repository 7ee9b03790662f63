package vet

import "strings"

// directives refuses every comment the toolchain takes for a command, wherever it stands. The rule is wider than the
// toolchain's own, column and place do not matter, so that no version of it can find a command where this found none.
func (f *goFile) directives() {
	for _, c := range f.comments {
		if what, instead := directive(c.text); what != "" {
			f.add(c.offset, LintDirective, what, instead)
		}
	}
}

func directive(text string) (what, instead string) {
	const prose = "remove it; if it is prose, put a space after the slashes"
	if body, ok := strings.CutPrefix(text, "/*"); ok {
		if word(body, "line") {
			return "a line directive, which forges the places of errors", "remove it; if it is prose, put a space after the opening"
		}
		return "", ""
	}
	body := strings.TrimPrefix(text, "//")
	switch {
	case body == "go:fix inline":
		return "", "" // advice to editors and go fix, which compiles to nothing
	case strings.HasPrefix(body, "go:"):
		name, _, _ := strings.Cut(body, " ")
		switch name {
		case "go:build":
			return "a build constraint, so the file is compiled in some builds and not in others", "remove it; an extension is one source for every platform"
		case "go:generate":
			return "a command for go generate, which an install never runs", "keep it in a script outside the packages"
		case "go:embed":
			return "it embeds files", "put the text in a Go string constant, or in [config]"
		}
		return "//" + name + ", a command to the toolchain", prose
	case word(body, "line"):
		return "a line directive, which forges the places of errors", prose
	case word(body, "export"):
		return "an export directive of cgo", prose
	case word(body, "extern"):
		return "an extern directive, which names a symbol of the linker", prose
	case word(strings.TrimLeft(body, " \t"), "+build"):
		return "a build constraint in the old form", "remove it; an extension is one source for every platform"
	}
	return "", ""
}

// word reports whether text begins with a word, not just with its letters.
func word(text, w string) bool {
	rest, ok := strings.CutPrefix(text, w)
	return ok && (rest == "" || strings.IndexByte(" \t\n:", rest[0]) >= 0)
}
