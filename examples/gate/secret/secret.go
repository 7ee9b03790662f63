// Package secret finds credentials in text and takes their values out. What has a form of its own
// (a private key, a token with a prefix) is found anywhere; a value without one is found beside a
// name that says what it is, where it is random enough to be no word.
package secret

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"regexp"
	"strings"
)

// form is a kind of credential that can be told by how it looks.
type form struct {
	kind  string
	shape *regexp.Regexp // what is taken out: its first group, or all of it
	hint  string         // a text that must be there, so that most texts are not searched
	real  func(match string) bool
}

var forms = []form{
	{"private key", regexp.MustCompile(`(?s)-----BEGIN (?:[A-Z0-9 ]+ )?PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END (?:[A-Z0-9 ]+ )?PRIVATE KEY(?: BLOCK)?-----|\z)`), "PRIVATE KEY", nil},
	{"AWS access key", regexp.MustCompile(`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b`), "A", notExample},
	{"GitHub token", regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{30,255})\b`), "_", nil},
	{"GitLab token", regexp.MustCompile(`\bgl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_-]{20,255}`), "gl", nil},
	{"Slack token", regexp.MustCompile(`\bxox[abeprs]-[A-Za-z0-9-]{10,255}`), "xox", nil},
	{"Slack webhook", regexp.MustCompile(`\bhooks\.slack\.com/services/(T[A-Za-z0-9]+/B[A-Za-z0-9]+/[A-Za-z0-9]{16,})`), "hooks.slack.com", nil},
	{"Google API key", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{35}`), "AIza", nil},
	{"Stripe key", regexp.MustCompile(`\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}\b`), "k_", nil},
	{"API key", regexp.MustCompile(`\bsk-(?:[a-z]+[0-9]*-){0,3}[A-Za-z0-9_-]{20,255}`), "sk-", random},
	{"npm token", regexp.MustCompile(`\bnpm_[A-Za-z0-9]{36}\b`), "npm_", nil},
	{"PyPI token", regexp.MustCompile(`\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{50,1000}`), "pypi-", nil},
	{"SendGrid key", regexp.MustCompile(`\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}`), "SG.", nil},
	{"JWT", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]{16,}`), "eyJ", isJWT},
	{"password in a URL", regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s/:@'"]{0,100}:([^\s/@'"]{3,200})@[A-Za-z0-9\[]`), "://", notPlaceholder},
	{"authorization", regexp.MustCompile(`(?i)\b(?:authorization|proxy-authorization)["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{12,})`), "uthorization", notPlaceholder},
	{"authorization", regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{20,})`), "earer", random},
}

// named is a name that says that its value is secret: the whole of it, or its last part.
const named = `(?:[A-Za-z0-9]+[_.-])*(?:password|passwd|passphrase|pwd|secret|token|api_?-?key|apikey|access_?-?key|secret_?-?key|private_?-?key|client_?-?secret|auth_?-?key|encryption_?-?key|signing_?-?key|credentials?)`

var (
	// assigned is a name, what sets it apart from its value, and the value: quoted, or a word.
	assigned  = regexp.MustCompile(`(?i)(^|[^A-Za-z0-9])(` + named + `)(["']?\s*(?::=|=>|=|:)\s*)("[^"\n]{6,500}"|'[^'\n]{6,500}'|[^\s"'` + "`" + `,;&<>(){}\[\]]{6,500})`)
	secretKey = regexp.MustCompile(`(?i)^` + named + `$`)
	camelCase = regexp.MustCompile(`([a-z0-9])([A-Z])`)
)

// Redact takes the values of credentials out of a text and says what kinds there were. A text
// without any comes back as it is.
func Redact(text string) (string, []string) {
	var kinds []string
	for _, f := range forms {
		if !strings.Contains(text, f.hint) {
			continue
		}
		text = replace(text, f, &kinds)
	}
	return assignments(text, &kinds), kinds
}

// Marker stands where a value stood.
func Marker(kind string) string { return "[redacted: " + kind + "]" }

func replace(text string, f form, kinds *[]string) string {
	var b strings.Builder
	last := 0
	for _, m := range f.shape.FindAllStringSubmatchIndex(text, -1) {
		begin, end := m[0], m[1]
		if len(m) > 2 && m[2] >= 0 {
			begin, end = m[2], m[3]
		}
		if value := text[begin:end]; strings.Contains(value, "[redacted") || f.real != nil && !f.real(value) {
			continue
		}
		b.WriteString(text[last:begin] + Marker(f.kind))
		last = end
		*kinds = append(*kinds, f.kind)
	}
	if last == 0 {
		return text
	}
	return b.String() + text[last:]
}

// assignments takes out what stands beside a name that says it is secret.
func assignments(text string, kinds *[]string) string {
	var b strings.Builder
	last := 0
	for _, m := range assigned.FindAllStringSubmatchIndex(text, -1) {
		name, value := text[m[4]:m[5]], text[m[8]:m[9]]
		begin, end := m[8], m[9]
		if value[0] == '"' || value[0] == '\'' {
			begin, end = begin+1, end-1
		}
		if !IsSecret(name, text[begin:end]) {
			continue
		}
		kind := kindOf(name)
		b.WriteString(text[last:begin] + Marker(kind))
		last = end
		*kinds = append(*kinds, kind)
	}
	if last == 0 {
		return text
	}
	return b.String() + text[last:]
}

func kindOf(name string) string {
	folded := strings.ToLower(name)
	switch {
	case strings.Contains(folded, "pass") || strings.HasSuffix(folded, "pwd"):
		return "password"
	case strings.Contains(folded, "token"):
		return "token"
	case strings.HasSuffix(folded, "key"):
		return "key"
	}
	return "secret"
}

// IsSecret reports whether a value beside a name is one to take out. A password can be short;
// anything else must look random.
func IsSecret(name, value string) bool {
	name = camelCase.ReplaceAllString(name, "${1}_${2}")
	if !secretKey.MatchString(name) || !notPlaceholder(value) {
		return false
	}
	if kindOf(name) == "password" {
		return len(value) >= 6 && !strings.ContainsAny(value, "(){}") && mixed(value)
	}
	return random(value)
}

// mixed reports whether a value is more than one plain word.
func mixed(value string) bool {
	classes := 0
	for _, class := range []string{"abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"} {
		if strings.ContainsAny(value, class) {
			classes++
		}
	}
	if strings.ContainsAny(value, "!@#$%^&*+=?~|") {
		classes++
	}
	return classes >= 2
}

// The least that a random value has: length in characters, and bits in each by how often each
// character stands. Words of a language have fewer than three and a half, or no digits.
const (
	randomLength = 16
	randomBits   = 3.0
)

// random reports whether a value is random enough to be a key, and no path, version or word.
func random(value string) bool {
	if len(value) < randomLength || strings.ContainsAny(value, " \t(){}") || !notPlaceholder(value) {
		return false
	}
	if strings.Count(value, "/") > 1 && strings.Count(value, "/")*8 > len(value) || strings.HasPrefix(value, "/") || strings.HasPrefix(value, "./") || strings.Contains(value, "://") {
		return false // a path, an address
	}
	digits, letters := 0, 0
	for _, c := range value {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
		}
	}
	return digits >= 2 && letters >= 2 && bits(value) >= randomBits
}

// bits is Shannon's entropy of the characters of a text, in bits for each.
func bits(text string) float64 {
	counts := map[rune]int{}
	n := 0
	for _, c := range text {
		counts[c]++
		n++
	}
	sum := 0.0
	for _, count := range counts {
		p := float64(count) / float64(n)
		sum -= p * math.Log2(p)
	}
	return sum
}

var placeholder = regexp.MustCompile(`(?i)^(\$|%[a-z_]+%|<|\{\{|\*+$|x+$|\.+$|\[)|example|changeme|change_me|placeholder|your[_-]|dummy|redacted|process\.env|os\.(environ|getenv)|getenv|secrets\.|\bvar\.|\bnull$|^(true|false|none|undefined)$`)

func notPlaceholder(value string) bool { return !placeholder.MatchString(value) }

// notExample leaves the keys of AWS's own documentation alone.
func notExample(value string) bool { return !strings.Contains(value, "EXAMPLE") }

// isJWT reports whether the first part of a token says with which algorithm it is signed.
func isJWT(token string) bool {
	head, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return false
	}
	var header struct {
		Algorithm string `json:"alg"`
	}
	return json.Unmarshal(raw, &header) == nil && header.Algorithm != ""
}
