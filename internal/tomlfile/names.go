package tomlfile

import (
	"path"
	"slices"
	"strings"
)

// What every file means by a variable, a program and a host.

// Variable is the name of an environment variable.
var Variable = Word{"the name of an environment variable", "upper-case letters, digits and underscores, not beginning with a digit", maxVariable, IsVariable}

// IsVariable reports whether s is [A-Z_][A-Z0-9_]*.
func IsVariable(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'A' || c > 'Z') && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// isProgram is a program's name, or an absolute path in its shortest form.
func isProgram(s string) bool {
	if strings.ContainsAny(s, `\ `) || strings.HasPrefix(s, "-") {
		return false
	}
	return !strings.Contains(s, "/") && s != "." && s != ".." || path.IsAbs(s) && s != "/" && path.Clean(s) == s
}

// Argv reads a command, or a prefix of one: at most words of them, each of at
// most bytes. Each word is kept as it is. The first is the name of a program or
// an absolute path; a relative path would mean another program in another
// directory.
func (s Section) Argv(n Node, key string, words, bytes int) ([]string, bool) {
	if _, line := n.Value.(string); line { // brackets around it would make one word of it; it is not repeated, as it may be a secret
		s.Fault(n, key, "expected an array of words, found a string", eachWord)
		return nil, false
	}
	items, ok := s.Some(n, key, words, "words")
	if !ok {
		return nil, false
	}
	argv := make([]string, 0, len(items))
	for i, item := range items {
		word, ok := s.Text(item, key, bytes, "")
		if !ok {
			return nil, false
		}
		if i == 0 && !isProgram(word) {
			s.Fault(item, key, Quote(word)+" is neither the name of a program nor an absolute path to one", programFix(word))
			return nil, false
		}
		argv = append(argv, word)
	}
	return argv, true
}

// eachWord says how a command is written.
const eachWord = `write each word by itself, like ["cat", "name.txt"]`

// programFix says what stands in a program's place instead of word.
func programFix(word string) string {
	switch clean := path.Clean(word); {
	case strings.Contains(word, " ") && len(word) <= maxQuoted:
		var words []string
		for _, part := range strings.Fields(word) {
			words = append(words, Quote(part))
		}
		return "write each word by itself, like [" + strings.Join(words, ", ") + "]"
	case strings.Contains(word, " "):
		return eachWord
	case path.IsAbs(word) && clean != "/" && isProgram(clean):
		return "write " + Quote(clean)
	}
	return `write an absolute path like "/usr/bin/cat", or a name that is looked up in PATH, like "cat"`
}

// Hosts reads the exact host names of an array, sorted.
func (s Section) Hosts(items List, key string) []string {
	var hosts []string
	for _, item := range items {
		host, ok := s.Text(item, key, 2*MaxHost, "")
		if !ok {
			continue
		}
		if msg, fix, bad := HostFault(host); bad {
			s.Fault(item, key, msg, fix)
		} else if s.Distinct(item, key, host, hosts) {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return hosts
}

// HostFault says what keeps s from being an exact host name. A name needs a dot:
// a single label is looked up in whatever domain the machine is in.
func HostFault(s string) (msg, fix string, bad bool) {
	q := Quote(s)
	labels := strings.Split(s, ".")
	last := labels[len(labels)-1]
	switch {
	case strings.Contains(s, "://") || strings.Contains(s, "/"):
		return q + " is a URL or a path", "write the host's name alone", true
	case strings.Contains(s, "*"):
		return q + " holds a wildcard", "name each host", true
	case strings.HasPrefix(s, "[") || strings.Count(s, ":") > 1:
		return q + " is an address", "write the host's name", true
	case strings.Contains(s, ":"):
		return q + " holds a port", "write the name alone; requests go to port 443", true
	case len(s) > 1 && last == "":
		return q + " ends in a dot", "leave the last dot out", true
	case s != strings.ToLower(s):
		return q + " is not in lower case", "write " + Quote(strings.ToLower(s)), true
	case isNumeric(last):
		return q + " is an address, or is taken for one", "write the host's name", true
	case last == "localhost":
		return q + " is this machine", "name a public host", true
	case len(s) > MaxHost:
		return q + " is too long for a host name", "write at most " + integer(MaxHost) + " bytes", true
	}
	for _, label := range labels {
		if !isLabel(label) {
			return q + " is not a host name: " + Quote(label) + " is no label of one",
				"write letters, digits and hyphens between the dots, at most 63", true
		}
	}
	if len(labels) == 1 {
		return q + " has no dot, so it names no public host", "write the full name", true
	}
	return "", "", false
}

func isLabel(s string) bool {
	if s == "" || len(s) > maxHostLabel || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// isNumeric is true for a last label that URL parsers take for the end of an
// IPv4 address: all digits, or hexadecimal after 0x.
func isNumeric(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	for i := range len(digits) {
		c := digits[i]
		if (c < '0' || c > '9') && (!hex || c < 'a' || c > 'f') {
			return false
		}
	}
	return label != ""
}
