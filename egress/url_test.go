package egress

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func TestURLsThatAreRead(t *testing.T) {
	for raw, want := range map[string]target{
		"https://a.example":                      {host: "a.example", path: "/"},
		"https://a.example/":                     {host: "a.example", path: "/"},
		"https://a.example:443/x":                {host: "a.example", path: "/x"},
		"https://a.example?q":                    {host: "a.example", path: "/", query: "q", asks: true},
		"https://a.example/?":                    {host: "a.example", path: "/", asks: true},
		"https://a.example/a%2Fb%2fc//d;e=1":     {host: "a.example", path: "/a%2Fb%2fc//d;e=1"},
		"https://a.example//b":                   {host: "a.example", path: "//b"},
		"https://a.example/@b:443/...":           {host: "a.example", path: "/@b:443/..."},
		"https://a.example/?a[b]=c|d&e=/?@%":     {},
		"https://xn--bcher-kva.example/b":        {host: "xn--bcher-kva.example", path: "/b"},
		"https://1.a-b.0x0.example/":             {host: "1.a-b.0x0.example", path: "/"},
		"https://a.example/x?a[b]=c|d&e=/?@":     {host: "a.example", path: "/x", query: "a[b]=c|d&e=/?@", asks: true},
		"https://a.example/x?u=%E2%82%AC+%2e%2e": {host: "a.example", path: "/x", query: "u=%E2%82%AC+%2e%2e", asks: true},
	} {
		got, err := readURL(raw)
		if want.host == "" {
			if err == nil {
				t.Errorf("%s is read", raw)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", raw, got, err)
		}
	}
}

func TestURLsThatTwoParsersCouldReadTwoWaysAreRefused(t *testing.T) {
	p := Policy{Hosts: []string{"a.example", "127.0.0.1", "2130706433", "localhost.", "A.example", "ä.example", "[::1]", ""}}
	for raw, want := range map[string]Kind{
		"":                                                  Invalid,
		"a.example":                                         Invalid,
		"/path":                                             Invalid,
		"//a.example/":                                      Invalid,
		"https:a.example":                                   Invalid,
		"https:/a.example":                                  Invalid,
		"https:///a.example":                                Invalid,
		"https:////a.example":                               Invalid,
		"https://":                                          Invalid,
		"https:///":                                         Invalid,
		"https://?q":                                        Invalid,
		"https://:443/":                                     Invalid,
		"HTTPS://a.example/":                                Invalid,
		"Https://a.example/":                                Invalid,
		"http://a.example/":                                 NotAllowed,
		"ftp://a.example/":                                  NotAllowed,
		"file:///etc/passwd":                                NotAllowed,
		"javascript:alert(1)":                               NotAllowed,
		" https://a.example/":                               Invalid,
		"https://a.example/ ":                               Invalid,
		"https://a.example/\t":                              Invalid,
		"ht\ntps://a.example/":                              Invalid,
		"https://a.example/\r\nHost: b":                     Invalid,
		"https://a.example/\x00":                            Invalid,
		"https://a.example/\x7f":                            Invalid,
		"https://a.example\\@b.example/":                    Invalid,
		"https:\\\\a.example/":                              Invalid,
		"https://a.example/a\\..\\b":                        Invalid,
		"https://user@a.example/":                           Invalid,
		"https://user:pass@a.example/":                      Invalid,
		"https://@a.example/":                               Invalid,
		"https://b.example@a.example/":                      Invalid,
		"https://a.example:80@b.example/":                   Invalid,
		"https://a.example#@b.example/":                     Invalid,
		"https://a.example/#f":                              Invalid,
		"https://a.example/?q#":                             Invalid,
		"https://a.example:/":                               Invalid,
		"https://a.example:0443/":                           Invalid,
		"https://a.example:+443/":                           Invalid,
		"https://a.example:443:443/":                        Invalid,
		"https://a.example:x/":                              Invalid,
		"https://a.example:8443/":                           NotAllowed,
		"https://a.example:80/":                             NotAllowed,
		"https://a.example:65979/":                          NotAllowed,
		"https://127.0.0.1/":                                NotAllowed,
		"https://127.1/":                                    NotAllowed,
		"https://2130706433/":                               NotAllowed,
		"https://0x7f000001/":                               NotAllowed,
		"https://0x7f.0.0.1/":                               NotAllowed,
		"https://0177.0.0.1/":                               NotAllowed,
		"https://a.0x/":                                     NotAllowed,
		"https://[::1]/":                                    NotAllowed,
		"https://[::1]:443/":                                NotAllowed,
		"https://[fe80::1%25eth0]/":                         NotAllowed,
		"https://[::ffff:127.0.0.1]/":                       NotAllowed,
		"https://::1/":                                      Invalid,
		"https://a.example./":                               Invalid,
		"https://localhost./":                               Invalid,
		"https://a..example/":                               Invalid,
		"https://.a.example/":                               Invalid,
		"https://-a.example/":                               Invalid,
		"https://a_b.example/":                              Invalid,
		"https://a%2eexample/":                              Invalid,
		"https://a.example%00.b.example/":                   Invalid,
		"https://A.example/":                                Invalid,
		"https://ä.example/":                                Invalid,
		"https://a.example/ä":                               Invalid,
		"https://ａ.example/":                                Invalid,
		"https://a。example/":                                Invalid,
		"https://a.example/%":                               Invalid,
		"https://a.example/%2":                              Invalid,
		"https://a.example/%zz":                             Invalid,
		"https://a.example/?%2":                             Invalid,
		"https://a.example/<b>":                             Invalid,
		"https://a.example/?\"":                             Invalid,
		"https://a.example/a|b":                             Invalid,
		"https://a.example/.":                               Invalid,
		"https://a.example/../b":                            Invalid,
		"https://a.example/b/..":                            Invalid,
		"https://a.example/b/%2e%2E/c":                      Invalid,
		"https://a.example/b/.%2e/c":                        Invalid,
		"https://b.example/":                                NotAllowed,
		"https://a.example.b/":                              NotAllowed,
		"https://sub.a.example/":                            NotAllowed,
		"https://" + strings.Repeat("a", 64) + ".example/":  Invalid,
		"https://" + strings.Repeat("a.", 127) + "example/": Invalid,
		"https://a.example/" + strings.Repeat("a", maxURL):  Invalid,
	} {
		got, err := p.judge(raw)
		if err == nil {
			t.Errorf("%q is permitted as %+v", raw, got)
			continue
		}
		if err.Kind != want {
			t.Errorf("%q: got kind %q, %s; want %q", raw, err.Kind, err.Msg, want)
		}
		if len(err.Msg) > 300 {
			t.Errorf("%q: the message has %d bytes", raw[:20], len(err.Msg))
		}
	}
}

// strictURL is a second reading, written by another way: what is permitted must be
// exactly this.
var strictURL = regexp.MustCompile(`\Ahttps://((?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?::443)?(/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?(?:(\?)((?:[A-Za-z0-9._~!$&'()*+,;=:@/?|\[\]-]|%[0-9A-Fa-f]{2})*))?\z`)

func FuzzURL(f *testing.F) {
	for _, seed := range []string{
		"https://a.example/", "https://a.example:443/x?y=%20#z", "https://u@a.example/", "https://a.example\\@b.example/",
		"https://0x7f.1/", "https://[::1]/", "https://a.example./", "https://b.example//c/../d", "https://a.example?x=/y",
	} {
		f.Add(seed)
	}
	hosts := []string{"a.example", "b.example", "xn--bcher-kva.example"}
	p := Policy{Hosts: hosts}
	f.Fuzz(func(t *testing.T, raw string) {
		got, fault := p.judge(raw)
		if fault != nil {
			if strings.ContainsFunc(fault.Msg, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("%q: the message has a control character: %q", raw, fault.Msg)
			}
			return
		}
		m := strictURL.FindStringSubmatch(raw)
		if m == nil {
			t.Fatalf("%q is permitted, and the second reading does not know it", raw)
		}
		path := m[2]
		if path == "" {
			path = "/"
		}
		if got != (target{host: m[1], path: path, query: m[4], asks: m[3] != ""}) {
			t.Fatalf("%q: read as %+v, and by the second reading as %q", raw, got, m)
		}
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatalf("%q is permitted, and net/url refuses it: %v", raw, err)
		}
		if u.Scheme != "https" || u.Hostname() != got.host || u.Port() != "" && u.Port() != "443" || u.User != nil || u.Opaque != "" || u.Fragment != "" {
			t.Fatalf("%q: net/url reads %#v", raw, u)
		}
		if m[1] != hosts[0] && m[1] != hosts[1] && m[1] != hosts[2] {
			t.Fatalf("%q leads to %q", raw, m[1])
		}
		if sent := got.url().RequestURI(); sent != path+m[3]+m[4] || got.url().Host != m[1] {
			t.Fatalf("%q: %q is sent to %q", raw, sent, got.url().Host)
		}
	})
}
