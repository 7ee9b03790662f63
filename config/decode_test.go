package config

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDecode(t *testing.T) {
	dir := t.TempDir()
	ca := newRoot(t, "A Root")
	write(t, dir, "ca.pem", ca.pem)
	c, err := Decode([]byte(`
[egress]
roots   = ["ca.pem"]
resolve = ["api.example.test:443:127.0.0.1:8443", "six.example.test:443:[::1]:8443"]
private = ["b.example.test", "a.example.test"]
proxy   = "https://proxy.example.test:3128/"

[ceilings]
max_response_bytes = 1000
timeout_ms = 1500

[secrets]
BRAVE_API_KEY = { file = "keys/../brave" }
OTHER = { file = "/run/keys/other" }
THIRD.command = ["pass", "show", "a b"]
`), dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Egress.Roots) != 1 || !c.Egress.Roots[0].Equal(ca.certificate) {
		t.Errorf("roots: %v", c.Egress.Roots)
	}
	if c.Egress.Proxy == nil || c.Egress.Proxy.String() != "https://proxy.example.test:3128" {
		t.Errorf("proxy: %v", c.Egress.Proxy)
	}
	c.Egress.Roots, c.Egress.Proxy = nil, nil
	want := Config{
		Egress: Egress{
			Resolve: []Route{
				{"api.example.test", 443, netip.MustParseAddrPort("127.0.0.1:8443")},
				{"six.example.test", 443, netip.MustParseAddrPort("[::1]:8443")},
			},
			Private: []string{"a.example.test", "b.example.test"},
		},
		Ceilings: Ceilings{1000, 1500 * time.Millisecond},
		Secrets: map[string]SecretSource{
			"BRAVE_API_KEY": {File: dir + "/brave"},
			"OTHER":         {File: "/run/keys/other"},
			"THIRD":         {Command: []string{"pass", "show", "a b"}},
		},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v\nwant %+v", c, want)
	}
}

func TestWhatIsLeftOutIsTheDefault(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "[egress]\n[ceilings]\n[secrets]\n", "[egress]\nroots = []\nresolve = []\nprivate = []\nproxy = \"\"\n",
		"[ceilings]\nmax_response_bytes = 33554432\ntimeout_ms = 120000\n"} {
		if c, err := Decode([]byte(text), t.TempDir()); err != nil || !reflect.DeepEqual(c, Default()) {
			t.Errorf("%q: got %+v, %v", text, c, err)
		}
	}
}

// faultTests are one fault each.
var faultTests = map[string]struct{ text, want string }{
	"an unknown table":       {"[egres]\nx = 1\n", "config.toml:1: [egres]: unknown table; did you mean [egress]?"},
	"a foreign table":        {"[tool]\nx = 1\n", "config.toml:1: [tool]: unknown table; the configuration has egress, ceilings, secrets, hooks, extension, workspace, proc"},
	"a key outside a table":  {"timeout_ms = 1\n", "config.toml:1: timeout_ms: unknown key at the top level; it belongs under [ceilings]"},
	"an unknown egress key":  {"[egress]\nroot = []\n", `config.toml:2: [egress] root: unknown key; did you mean "roots"?`},
	"an unknown ceiling":     {"[ceilings]\ntimeout = 1\n", `config.toml:2: [ceilings] timeout: unknown key; did you mean "timeout_ms"?`},
	"a key of another table": {"[egress]\ntimeout_ms = 1\n", "config.toml:2: [egress] timeout_ms: unknown key; it belongs under [ceilings]"},
	"an unknown source key":  {"[secrets]\nA = { flie = \"a\" }\n", `config.toml:2: [secrets.A] flie: unknown key; did you mean "file"?`},
	"a table twice":          {"[ceilings]\n[ceilings]\n", "config.toml:2: [ceilings]: this table is opened already on line 1; merge the two"},

	"no bytes":          {"[ceilings]\nmax_response_bytes = 0\n", "config.toml:2: [ceilings] max_response_bytes: 0 is out of range; write a number from 1 to 268435456"},
	"too many bytes":    {"[ceilings]\nmax_response_bytes = 268435457\n", "config.toml:2: [ceilings] max_response_bytes: 268435457 is out of range; write a number from 1 to 268435456"},
	"no time":           {"[ceilings]\ntimeout_ms = -1\n", "config.toml:2: [ceilings] timeout_ms: -1 is out of range; write a number from 1 to 600000"},
	"too much time":     {"[ceilings]\ntimeout_ms = 600001\n", "config.toml:2: [ceilings] timeout_ms: 600001 is out of range; write a number from 1 to 600000"},
	"time with a unit":  {"[ceilings]\ntimeout_ms = \"2s\"\n", "config.toml:2: [ceilings] timeout_ms: expected an integer, found a string; write a whole number without quotes"},
	"half a time":       {"[ceilings]\ntimeout_ms = 0.5\n", "config.toml:2: [ceilings] timeout_ms: expected an integer, found a float; write a whole number without quotes"},
	"a ceiling, alone":  {"ceilings = 3\n", "config.toml:1: [ceilings]: expected a table, found an integer; write it under its own [ceilings] line"},
	"a list of egress":  {"[[egress]]\n", "config.toml:1: [egress]: expected a table, found an array; write [egress] once"},
	"a route, alone":    {"[egress]\nresolve = \"a.example:443:1.1.1.1:1\"\n", "config.toml:2: [egress] resolve: expected an array of routes, found a string; put the value in brackets"},
	"a private wild":    {"[egress]\nprivate = [\"*.example\"]\n", `config.toml:2: [egress] private: "*.example" holds a wildcard; name each host`},
	"a private port":    {"[egress]\nprivate = [\"a.example:443\"]\n", `config.toml:2: [egress] private: "a.example:443" holds a port; write the name alone; requests go to port 443`},
	"private twice":     {"[egress]\nprivate = [\"a.example\", \"a.example\"]\n", `config.toml:2: [egress] private: "a.example" is named twice; name it once`},
	"a root in a shell": {"[egress]\nroots = [\"~/ca.pem\"]\n", `config.toml:2: [egress] roots: "~/ca.pem" begins with what only a shell expands; write the path out`},
	"a root directory":  {"[egress]\nroots = [\"ca/\"]\n", `config.toml:2: [egress] roots: "ca/" is a directory; name a file`},
	"no root":           {"[egress]\nroots = [\"\"]\n", "config.toml:2: [egress] roots: the text is empty; write it"},

	"a secret itself":         {"[secrets]\nA = \"hunter2\"\n", "config.toml:2: [secrets] A: expected where the value comes from, found a string; the value itself does not belong in this file; " + sourceFix},
	"a name in lower case":    {"[secrets]\nbrave-key = { file = \"a\" }\n", `config.toml:2: [secrets] brave-key: this is not the name of an environment variable; did you mean "BRAVE_KEY"?`},
	"a name that is none":     {"[secrets]\n\"1 A\" = { file = \"a\" }\n", "config.toml:2: [secrets] 1 A: this is not the name of an environment variable; write upper-case letters, digits and underscores, not beginning with a digit"},
	"no source":               {"[secrets]\nA = {}\n", "config.toml:2: [secrets.A]: it does not say where the value comes from; " + sourceFix},
	"two sources":             {"[secrets]\nA = { file = \"a\", command = [\"b\"] }\n", "config.toml:2: [secrets.A] command: there is a file too, and a value comes from one place; keep one of the two"},
	"a file that is none":     {"[secrets]\nA = { file = 1 }\n", "config.toml:2: [secrets.A] file: expected a string, found an integer; put the value in quotes"},
	"a command line":          {"[secrets]\nA = { command = \"pass show x\" }\n", "config.toml:2: [secrets.A] command: expected an array of words, found a string; write each word by itself, like [\"cat\", \"name.txt\"]"},
	"a command in one word":   {"[secrets]\nA = { command = [\"pass show\"] }\n", `config.toml:2: [secrets.A] command: "pass show" is neither the name of a program nor an absolute path to one; write each word by itself, like ["pass", "show"]`},
	"a relative program":      {"[secrets]\nA = { command = [\"./pass\"] }\n", `config.toml:2: [secrets.A] command: "./pass" is neither the name of a program nor an absolute path to one; write an absolute path like "/usr/bin/cat", or a name that is looked up in PATH, like "cat"`},
	"a path with detours":     {"[secrets]\nA = { command = [\"/usr//bin/../pass\"] }\n", `config.toml:2: [secrets.A] command: "/usr//bin/../pass" is neither the name of a program nor an absolute path to one; write "/usr/pass"`},
	"a secret for a command":  {"[secrets]\nA = { command = \"hunter2\" }\n", "config.toml:2: [secrets.A] command: expected an array of words, found a string; write each word by itself, like [\"cat\", \"name.txt\"]"},
	"no command":              {"[secrets]\nA = { command = [] }\n", "config.toml:2: [secrets.A] command: the array is empty; name what is needed"},
	"secrets in many tables":  {"[[secrets.A]]\nfile = \"a\"\n", "config.toml:1: [secrets] A: expected where the value comes from, found an array; the value itself does not belong in this file; " + sourceFix},
	"a hidden character":      {"[secrets]\nA = { file = \"a\\u202eb\" }\n", "config.toml:2: [secrets.A] file: the text holds the invisible character U+202E; remove it: people must see all that is there"},
	"a value without quotes":  {"[secrets]\nA = hunter\n", "config.toml:2: this line is not TOML; correct the TOML syntax"},
	"a proxy in the clear":    {"[egress]\nproxy = \"http://proxy.example:3128\"\n", `config.toml:2: [egress] proxy: "http://proxy.example:3128" is spoken to in the clear, or not at all; write https://, and a proxy that speaks it`},
	"a proxy with a password": {"[egress]\nproxy = \"https://me:hunter2@proxy.example\"\n", "config.toml:2: [egress] proxy: the URL holds a user or a password, which this file is no place for; leave them out; such a proxy is not supported"},
}

func TestFaults(t *testing.T) {
	for name, test := range faultTests {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(test.text), "/etc/loom")
			var fault *Error
			if !errors.As(err, &fault) {
				t.Fatalf("got %v", err)
			}
			if got, want := err.Error(), "config: /etc/loom/"+test.want; got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			if strings.Contains(err.Error(), "hunter") {
				t.Error("the fault repeats a secret")
			}
		})
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, err := Decode([]byte("[egress]\nproxy = 1\nresolve = [\"a\", \"b\"]\n[ceilings]\nx = 1\n[secrets]\na = 1\n"), "/etc/loom")
	var fault *Error
	if !errors.As(err, &fault) || len(fault.Faults) != 6 {
		t.Fatalf("got %v", err)
	}
	var first Fault
	if !errors.As(err, &first) || first.Line != 2 {
		t.Errorf("the first is %v", first)
	}
}

func TestRoutes(t *testing.T) {
	for text, want := range map[string]Route{
		"a.example:443:127.0.0.1:8443": {"a.example", 443, netip.MustParseAddrPort("127.0.0.1:8443")},
		"a.example:443:[fd00::1]:443":  {"a.example", 443, netip.MustParseAddrPort("[fd00::1]:443")},
	} {
		if got, msg, _ := parseRoute(text); got != want || msg != "" {
			t.Errorf("%q: got %v, %q", text, got, msg)
		}
	}
	for text, says := range map[string]string{
		"":                                   "not a route",
		"a.example":                          "not a route",
		"a.example:443":                      "not a route",
		"a.example:443:":                     "not an address",
		"a.example:443:127.0.0.1":            "not an address",
		"a.example:443:127.0.0.1:":           "not an address",
		"a.example:443:127.0.0.1:0":          "not an address",
		"a.example:443:127.0.0.1:65536":      "not an address",
		"a.example:443:127.0.0.1:08443":      "not an address",
		"a.example:443:127.0.0.1:+1":         "not an address",
		"a.example:443:127.1:8443":           "not an address",
		"a.example:443:0177.0.0.1:8443":      "not an address",
		"a.example:443:b.example:8443":       "not an address",
		"a.example:443:::1:8443":             "not an address",
		"a.example:443:[::1]":                "not an address",
		"a.example:443:[127.0.0.1]:1":        "not an address",
		"a.example:443:127.0.0.1:1,1.1.1.1:": "not an address",
		"a.example:443:[0:0::1]:1":           "not an address",
		"a.example:443:[::ffff:1.1.1.1]:1":   "IPv6 form",
		"a.example:443:[fe80::1%eth0]:1":     "zone",
		"a.example:443:0.0.0.0:1":            "no single machine",
		"a.example:443:[::]:1":               "no single machine",
		"a.example:443:224.0.0.1:1":          "no single machine",
		"a.example:80:127.0.0.1:1":           "port 443",
		"a.example:0443:127.0.0.1:1":         "port 443",
		"a.example:*:127.0.0.1:1":            "not a route",
		"a.example:127.0.0.1:8443":           "not a route",
		"a.example::127.0.0.1:1":             "not a route",
		"*:443:127.0.0.1:1":                  "wildcard",
		"+a.example:443:127.0.0.1:1":         "no label",
		"A.example:443:127.0.0.1:1":          "lower case",
		"127.0.0.1:443:127.0.0.1:1":          "address",
		"[::1]:443:127.0.0.1:1":              "not a route",
		"localhost:443:127.0.0.1:1":          "this machine",
	} {
		if got, msg, fix := parseRoute(text); !strings.Contains(msg, says) || fix == "" || got != (Route{}) {
			t.Errorf("%q: got %v, %q, %q, want it to say %q", text, got, msg, fix, says)
		}
	}
	_, err := Decode([]byte("[egress]\nresolve = [\"a.example:443:127.0.0.1:1\",\n\"a.example:443:127.0.0.1:2\"]\n"), "/etc/loom")
	if err == nil || !strings.Contains(err.Error(), `config.toml:3: [egress] resolve: "a.example" is routed twice`) {
		t.Errorf("got %v", err)
	}
}

func TestProxies(t *testing.T) {
	proxy := func(text string) (string, error) {
		c, err := Decode([]byte("[egress]\nproxy = '"+text+"'\n"), "/etc/loom")
		if err != nil || c.Egress.Proxy == nil {
			return "", err
		}
		return c.Egress.Proxy.String(), nil
	}
	for text, want := range map[string]string{
		"":                           "",
		"https://proxy.example":      "https://proxy.example",
		"https://proxy:3128":         "https://proxy:3128",
		"https://proxy.example:443/": "https://proxy.example:443",
		"HTTPS://127.0.0.1:1":        "https://127.0.0.1:1",
		"https://[::1]:1":            "https://[::1]:1",
	} {
		if got, err := proxy(text); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		" ":                              "empty",
		"proxy.example:3128":             "not the URL",
		"proxy.example":                  "not the URL",
		"//proxy.example":                "not the URL",
		"https:":                         "not the URL",
		"https:proxy.example":            "not the URL",
		"https://":                       "not the URL",
		"https://proxy.example:x":        "not the URL",
		"https://proxy.example:1/%zz":    "not the URL",
		"http://proxy.example:3128":      "in the clear",
		"socks5://proxy.example:1080":    "in the clear",
		"https://proxy.example/path":     "more than",
		"https://proxy.example/?":        "more than",
		"https://proxy.example?x=1":      "more than",
		"https://proxy.example#":         "more than",
		"https://proxy.example:":         "no port",
		"https://proxy.example:0":        "no port",
		"https://proxy.example:65536":    "no port",
		"https://a_b.example":            "no host",
		"https://proxy..example":         "no host",
		"https://[fe80::1%25eth0]:1":     "no host",
		"https://prox%79.example":        "not the URL",
		"https://@proxy.example":         "a user or a password",
		"https://u:hunter2@[::1]:99999/": "a user or a password",
	} {
		if got, err := proxy(text); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%q: got %q, %v, want it to say %q", text, got, err, says)
		}
	}
}
