package manifest

import (
	"strings"
	"testing"

	"github.com/loomext/loomext/internal/tomlfile"
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
		{"headers", isHeader, []string{"X-Key", "x", "Authorization", "a_b!"},
			[]string{"", "X Key", "X:", ":path", "X\n", "é", "X(y)"}},
		{"paths", isPath, []string{"a", "a/b", "a-b/c_d.e", ".a", "a/..b", "internal/tool"},
			[]string{"", ".", "..", "/a", "a/", "./a", "a//b", "a/./b", "a/../b", "../a", `a\b`, "a b", "é", "C:a"}},
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

func TestVersions(t *testing.T) {
	for version, ok := range map[string]bool{
		"0.0.0": true, "1.2.3": true, "1.2.3-rc.1": true, "1.2.3+build.5": true, "1.2.3-rc.1+b": true, "10.20.30": true,
		"1": false, "1.2": false, "v1.2.3": false, "1.2.3.4": false, "01.2.3": false, "1.2.3-": false, "1.2.3-01": false, "latest": false, "1.2.3 ": false,
	} {
		r := format.Begin()
		node := tomlfile.Node{Line: 1, Value: version}
		s, _ := r.Open("extension", tomlfile.Node{Line: 1, Value: tomlfile.Table{"version": node}})
		if got := (section{s}).version(node); (got == version) != ok || (r.Count() == 0) != ok {
			t.Errorf("%q: got %q, %v", version, got, r.Faults())
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
