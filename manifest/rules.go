package manifest

import (
	"path"
	"strings"

	"github.com/github/go-spdx/v2/spdxexp"
	"golang.org/x/mod/semver"
)

var nameWord = word{"a name", "lower-case letters, digits and single underscores, beginning with a letter", MaxName, IsName}

// IsName reports whether s is [a-z][a-z0-9_]* without a double underscore: harnesses join names
// with one.
func IsName(s string) bool {
	if s == "" || s[0] < 'a' || s[0] > 'z' || strings.Contains(s, "__") {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

var envWord = word{"the name of an environment variable", "upper-case letters, digits and underscores, not beginning with a digit", maxEnv, isEnv}

func isEnv(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'A' || c > 'Z') && c != '_' && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

var headerWord = word{"a header's name", "letters, digits and hyphens", maxHeader, isHeader}

// isHeader is the token of RFC 9110.
func isHeader(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// reservedHeader says why a secret may not travel in a header. Those headers
// decide where a request goes, how long it is, or what happens on the way.
func reservedHeader(s string) (why string, reserved bool) {
	switch l := strings.ToLower(s); {
	case l == "host":
		return "the host's name is decided by the URL", true
	case strings.HasPrefix(l, "proxy-"):
		return "it speaks to a proxy", true
	case l == "connection", l == "keep-alive", l == "te", l == "trailer", l == "transfer-encoding", l == "upgrade", l == "expect":
		return "it belongs to the connection", true
	case l == "content-length", l == "content-encoding", l == "content-type", l == "accept-encoding", l == "range":
		return "it describes the message", true
	}
	return "", false
}

// isPath is a relative slash-separated path in its shortest form, in characters
// that every system and every message carries.
func isPath(s string) bool {
	if s == "" || s == "." || path.Clean(s) != s || path.IsAbs(s) || s == ".." || strings.HasPrefix(s, "../") {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("_-./", rune(c)) {
			return false
		}
	}
	return true
}

// isProgram is a program's name, or an absolute path in its shortest form.
func isProgram(s string) bool {
	if strings.ContainsAny(s, `\ `) || strings.HasPrefix(s, "-") {
		return false
	}
	return !strings.Contains(s, "/") && s != "." && s != ".." || path.IsAbs(s) && s != "/" && path.Clean(s) == s
}

// hostFault says what keeps s from being an exact host name. A name needs a dot:
// a single label is looked up in whatever domain the machine is in.
func hostFault(s string) (msg, fix string, bad bool) {
	q := quote(s)
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
		return q + " is not in lower case", "write " + quote(strings.ToLower(s)), true
	case isNumeric(last):
		return q + " is an address, or is taken for one", "write the host's name", true
	case last == "localhost":
		return q + " is this machine", "name a public host", true
	case len(s) > maxHost:
		return q + " is too long for a host name", "write at most " + integer(maxHost) + " bytes", true
	}
	for _, label := range labels {
		if !isLabel(label) {
			return q + " is not a host name: " + quote(label) + " is no label of one",
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

func (s section) version(n node) string {
	v, ok := s.text(n, "version", maxVersion, "")
	if !ok {
		return ""
	}
	full := "v" + v
	if !semver.IsValid(full) || semver.Canonical(full)+semver.Build(full) != full {
		fix := `write three numbers, like "1.2.0"`
		if strings.HasPrefix(v, "v") && semver.IsValid(v) {
			fix = "write " + quote(v[1:])
		}
		s.fault(n, "version", quote(v)+" is not a SemVer version", fix)
		return ""
	}
	return v
}

func (s section) license(n node) string {
	v, ok := s.text(n, "license", maxLicense, "")
	if !ok {
		return ""
	}
	if !isLicense(v) {
		s.fault(n, "license", quote(v)+" is not an SPDX license expression",
			`write one like "MIT", "Apache-2.0" or "MIT OR Apache-2.0"; "LicenseRef-…" names any other license`)
		return ""
	}
	return v
}

// isLicense keeps a defect of the expression parser from ending the process.
func isLicense(s string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	ok, _ = spdxexp.ValidateLicenses([]string{s})
	return ok
}
