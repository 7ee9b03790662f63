package manifest

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
		{"names", IsName, []string{"a", "web_search", "a1", "a_1_b", "a_"},
			[]string{"", "A", "1a", "_a", "a__b", "a-b", "a.b", "é", "aé", "a b", "a\n"}},
		{"environment names", isEnv, []string{"A", "_", "API_KEY", "A1", "_1"},
			[]string{"", "a", "1A", "A-B", "A B", "Ä", "A="}},
		{"headers", isHeader, []string{"X-Key", "x", "Authorization", "a_b!"},
			[]string{"", "X Key", "X:", ":path", "X\n", "é", "X(y)"}},
		{"paths", isPath, []string{"a", "a/b", "a-b/c_d.e", ".a", "a/..b", "internal/tool"},
			[]string{"", ".", "..", "/a", "a/", "./a", "a//b", "a/./b", "a/../b", "../a", `a\b`, "a b", "é", "C:a"}},
		{"programs", isProgram, []string{"go", "gofmt", "/usr/bin/git", "a.out"},
			[]string{".", "..", "./a", "a/b", "../a", "/", "/a/../b", "/a/", "a b", `a\b`, "-a"}},
		{"licenses", isLicense, []string{"MIT", "Apache-2.0", "MIT OR Apache-2.0", "(MIT AND ISC) OR GPL-2.0-or-later", "GPL-2.0-only WITH Classpath-exception-2.0", "LicenseRef-Proprietary"},
			[]string{"", "Apache 2", "MIT,ISC", "MIT OR", "(MIT", "MIT)", "OR", "WITH", "+", "MIT WITH", "Proprietary", strings.Repeat("(", 100)}},
		{"configuration keys", isConfigKey, []string{"a", "A-b_c1"}, []string{"", "1a", "a b", "a=b", "a.b", "é"}},
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
		if msg, _, bad := hostFault(host); bad {
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
		msg, fix, bad := hostFault(host)
		if !bad || !strings.Contains(msg, says) || fix == "" {
			t.Errorf("%q: got %q, %q, want it to say %q", host, msg, fix, says)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, ok := range map[string]bool{
		"0.0.0": true, "1.2.3": true, "1.2.3-rc.1": true, "1.2.3+build.5": true, "1.2.3-rc.1+b": true, "10.20.30": true,
		"1": false, "1.2": false, "v1.2.3": false, "1.2.3.4": false, "01.2.3": false, "1.2.3-": false, "1.2.3-01": false, "latest": false, "1.2.3 ": false,
	} {
		var faults Faults
		s := section{name: "extension", faults: &faults}
		if got := s.version(node{1, version}); (got == version) != ok || (len(faults) == 0) != ok {
			t.Errorf("%q: got %q, %v", version, got, faults)
		}
	}
}

func TestReservedHeaders(t *testing.T) {
	for _, header := range []string{"Host", "HOST", "Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Expect",
		"Content-Length", "Proxy-Authorization", "Proxy-Connection", "proxy-anything", "Range", "Accept-Encoding"} {
		if _, reserved := reservedHeader(header); !reserved {
			t.Errorf("%q may carry a secret", header)
		}
	}
	for _, header := range []string{"Authorization", "X-Subscription-Token", "Cookie", "X-Host", "Api-Key"} {
		if why, reserved := reservedHeader(header); reserved {
			t.Errorf("%q may not carry a secret: %s", header, why)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"name", "description", "prompt_snippet", "parameters", "entry", "timeout_ms", "net", "fs_read"}
	for got, want := range map[string]string{
		"nmae": "name", "Name": "name", "names": "name", "discription": "description", "desc": "description", "prompt-snippet": "prompt_snippet",
		"promptsnippet": "prompt_snippet", "parameter": "parameters", "timeout": "timeout_ms", "timeoutMs": "timeout_ms", "nett": "net", "fsread": "fs_read",
		"x": "", "zzzz": "", "": "", strings.Repeat("name", 1000): "", "entirely": "", "params": "parameters", "timeout_milliseconds": "", "entrypoint": "",
	} {
		if near, _ := nearest(got, known); near != want {
			t.Errorf("%q: got %q, want %q", got, near, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"kitten", "sitting", 3}, {"é", "e", 1},
	} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("%q, %q: got %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestHiddenCharacters(t *testing.T) {
	for _, r := range "\x00\x07\t\n\r\x1b\x7f\u0085\u00ad\u034f\u061c\u115f\u180e\u200b\u200d\u200e\u2028\u2029\u202e\u2060\u2066\u3164\ufe00\ufeff\uffa0\ufff9\U000e0001\U000e0041\U000e0100\ue000" {
		if _, found := hidden("a"+string(r)+"b", ""); !found {
			t.Errorf("%U is not hidden", r)
		}
		if _, found := hidden("a"+string(r)+"b", string(r)); found {
			t.Errorf("%U is not permitted", r)
		}
	}
	if name, found := hidden("plain é 日本語 ✓ ⚠️ “quoted” – 1\u00a02", ""); found {
		t.Errorf("%s is hidden", name)
	}
}

func TestHookFunctions(t *testing.T) {
	if len(Events()) != 9 {
		t.Errorf("%d events", len(Events()))
	}
	for event, want := range map[string]string{"session_start": "OnSessionStart", "tool_call": "OnToolCall", "usage": "OnUsage", "before_compact": "OnBeforeCompact", "OnUsage": "", "": ""} {
		if got, ok := HookFunc(event); got != want || ok != (want != "") {
			t.Errorf("%q: got %q, %v", event, got, ok)
		}
	}
}
