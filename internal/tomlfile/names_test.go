package tomlfile

import (
	"strings"
	"testing"
)

func TestWords(t *testing.T) {
	tests := []struct {
		rule string
		is   func(string) bool
		yes  []string
		no   []string
	}{
		{"environment names", IsVariable, []string{"A", "_", "API_KEY", "A1", "_1"},
			[]string{"", "a", "1A", "A-B", "A B", "Ä", "A="}},
		{"programs", isProgram, []string{"go", "gofmt", "/usr/bin/git", "a.out"},
			[]string{".", "..", "./a", "a/b", "../a", "/", "/a/../b", "/a/", "a b", `a\b`, "-a"}},
	}
	for _, test := range tests {
		t.Run(test.rule, func(t *testing.T) {
			for _, s := range test.yes {
				if !test.is(s) {
					t.Errorf("%q is refused", s)
				}
			}
			for _, s := range test.no {
				if test.is(s) {
					t.Errorf("%q is taken", s)
				}
			}
		})
	}
}

func TestHosts(t *testing.T) {
	label := strings.Repeat("a", maxHostLabel)
	for _, host := range []string{
		"a.example", "api.search.brave.com", "xn--bcher-kva.example", "1.2.3.example", "a-b.c", "0x.example", "3com.com", "a.0b", label + ".a",
		strings.Repeat(label+".", 3) + strings.Repeat("a", 61),
	} {
		if msg, _, bad := HostFault(host); bad {
			t.Errorf("%q is refused: %s", host, msg)
		}
	}
	for host, says := range map[string]string{
		"":                              "no label",
		"a":                             "no dot",
		"A.example":                     "lower case",
		"a.example.":                    "ends in a dot",
		".example":                      "no label",
		"a..example":                    "no label",
		"*.example":                     "wildcard",
		"a.example:443":                 "port",
		"a.example:":                    "port",
		"https://a.example":             "URL",
		"a.example/x":                   "URL",
		"user@a.example":                "no label",
		"a b.example":                   "no label",
		"a_b.example":                   "no label",
		"-a.example":                    "no label",
		"a-.example":                    "no label",
		"bücher.example":                "no label",
		label + "a.example":             "no label",
		"127.0.0.1":                     "address",
		"1.1":                           "address",
		"2130706433":                    "address",
		"0x7f000001":                    "address",
		"0x7f.1":                        "address",
		"1.0x1":                         "address",
		"a.0x":                          "address",
		"0177.0.0.01":                   "address",
		"a.example.1":                   "address",
		"[::1]":                         "address",
		"::1":                           "address",
		"fe80::1%eth0":                  "address",
		"localhost":                     "this machine",
		"a.localhost":                   "this machine",
		"a.example?x=1":                 "no label",
		"a.example#x":                   "no label",
		"a.example%2e.b":                "no label",
		strings.Repeat("a.", 127):       "ends in a dot",
		strings.Repeat("a.", 127) + "a": "too long",
	} {
		msg, fix, bad := HostFault(host)
		if !bad || !strings.Contains(msg, says) || fix == "" {
			t.Errorf("%q: got %q, %q, want it to say %q", host, msg, fix, says)
		}
	}
}
