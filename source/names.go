package source

import (
	"fmt"
	"strings"

	"golang.org/x/mod/module"
)

// oddName says what is wrong with one element of a path, or nothing. The rule is the same for every kept directory's
// entries, so that a tree means one thing on every file system and on every terminal.
func oddName(name string) (what string) {
	for i := range len(name) {
		switch c := name[i]; {
		case c < ' ' || c == 0x7f:
			return fmt.Sprintf("has a name with the control character 0x%02x", c)
		case c > 0x7f:
			return "has a name that is not ASCII"
		case strings.IndexByte(`\:*?"<>|`, c) >= 0:
			return fmt.Sprintf("has a name with %q, which is special on another system", string(c))
		}
	}
	switch last := name[len(name)-1]; {
	case name[0] == '-':
		return "has a name that begins with a dash, which commands take for a flag"
	case name[0] == ' ' || last == ' ' || last == '.':
		return "has a name that begins or ends with a space or ends with a dot, which other systems drop"
	case reservedOnWindows(name):
		return "has a name that Windows reserves for a device"
	}
	return ""
}

func reservedOnWindows(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL":
		return true
	}
	return len(stem) == 4 && (strings.HasPrefix(stem, "COM") || strings.HasPrefix(stem, "LPT")) &&
		stem[3] >= '0' && stem[3] <= '9'
}

// oddGoPath says what keeps a Go file's directory from being an import path, or its name from being plain.
func oddGoPath(dir, name string) (what string) {
	if dir != "." {
		if err := module.CheckImportPath(dir); err != nil {
			return "is in a directory that is no import path"
		}
	}
	for i := range len(name) {
		c := name[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("._-+", c) < 0 {
			return fmt.Sprintf("has a name with %q", string(c))
		}
	}
	return ""
}

func isGo(name string) bool { return strings.HasSuffix(name, ".go") }

// compiledBesideGo reports whether the go command would compile or assemble a file of this name into a package.
func compiledBesideGo(name string) bool {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return false
	}
	switch name[i:] {
	case ".c", ".cc", ".cpp", ".cxx", ".m", ".h", ".hh", ".hpp", ".hxx", ".f", ".F", ".for", ".f90",
		".s", ".S", ".sx", ".swig", ".swigcxx", ".syso":
		return true
	}
	return false
}

// prunedByName reports whether an entry is dropped for its name alone, whatever it is.
func prunedByName(name string, in region) bool {
	switch {
	case name[0] == '.', strings.HasSuffix(name, "_test.go"), name == "go.sum":
		return true
	case in == documents:
		return false
	}
	return name == vendorName || name == "testdata" || name == "docs"
}
