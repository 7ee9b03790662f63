package manifest

import (
	"path"
	"strings"

	"github.com/github/go-spdx/v2/spdxexp"
	"golang.org/x/mod/semver"

	"github.com/loomext/loomext/internal/tomlfile"
)

var nameWord = tomlfile.Word{
	What: "a name", Rule: "lower-case letters, digits and single underscores, beginning with a letter",
	Bound: MaxName, Is: IsName,
}

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

var headerWord = tomlfile.Word{
	What: "a header's name", Rule: "letters, digits and hyphens",
	Bound: maxHeader, Is: isHeader,
}

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

func (s section) version(n tomlfile.Node) string {
	v, ok := s.Text(n, "version", maxVersion, "")
	if !ok {
		return ""
	}
	full := "v" + v
	if !semver.IsValid(full) || semver.Canonical(full)+semver.Build(full) != full {
		fix := `write three numbers, like "1.2.0"`
		if strings.HasPrefix(v, "v") && semver.IsValid(v) {
			fix = "write " + tomlfile.Quote(v[1:])
		}
		s.Fault(n, "version", tomlfile.Quote(v)+" is not a SemVer version", fix)
		return ""
	}
	return v
}

func (s section) license(n tomlfile.Node) string {
	v, ok := s.Text(n, "license", maxLicense, "")
	if !ok {
		return ""
	}
	if !isLicense(v) {
		s.Fault(n, "license", tomlfile.Quote(v)+" is not an SPDX license expression",
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
