package egress

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestHeadersThatMayNotBeSet(t *testing.T) {
	p := Policy{Secrets: []Credential{
		{Env: "A_KEY", Host: "a.example", Header: "X-Subscription-Token", Format: "{}"},
		{Env: "B_KEY", Host: "b.example", Header: "Authorization", Format: "Bearer {}"},
	}}
	for _, name := range []string{
		"Host", "Connection", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Proxy-Anything", "TE", "Trailer",
		"Transfer-Encoding", "Upgrade", "HTTP2-Settings", "Content-Length", "Expect", "X-Subscription-Token", "Authorization",
	} {
		for _, spelt := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			_, err := p.judgeHeaders(map[string]string{spelt: "x"})
			if err == nil || err.Kind != NotAllowed || !strings.Contains(err.Msg, spelt) {
				t.Errorf("%s: %v", spelt, err)
			}
		}
	}
}

func TestHeaderValuesAreCheckedByCodePoint(t *testing.T) {
	for value, piece := range map[string]string{
		"a\rb": "a line end", "a\nb": "a line end", "a\r\nX: y": "a line end", "\n": "a line end", "a\x00": "a NUL",
		"\x01": "a control", "a\tb": "a control", "\x7f": "a control", "\u0085": "not ASCII", "é": "not ASCII",
		"\u010a": "not ASCII", // whose low byte is a line end
		"\u560a": "not ASCII", "\xff": "not ASCII", "\xc4": "not ASCII", " a": "space", "a ": "space",
	} {
		_, err := (&Policy{}).judgeHeaders(map[string]string{"X-Value": value})
		if err == nil || err.Kind != Invalid || !strings.Contains(err.Msg, piece) || !strings.Contains(err.Msg, "X-Value") {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func TestHeaderNamesAreTokens(t *testing.T) {
	for _, name := range []string{"", " ", "A B", "A:", ":path", "A\r\nB", "A\x00", "Ä", "A(", "a,b", "\u212aeep", strings.Repeat("a", maxHeaderName+1)} {
		_, err := (&Policy{}).judgeHeaders(map[string]string{name: "x"})
		if err == nil || err.Kind != Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestHeadersAreBoundedAndDistinct(t *testing.T) {
	many := map[string]string{}
	for i := range maxHeaders + 1 {
		many[fmt.Sprintf("X-%d", i)] = ""
	}
	for name, given := range map[string]map[string]string{
		"too many":      many,
		"too large":     {"A": strings.Repeat("a", maxHeaderBytes/2), "B": strings.Repeat("b", maxHeaderBytes/2)},
		"two spellings": {"X-A": "1", "x-a": "2"},
	} {
		if _, err := (&Policy{}).judgeHeaders(given); err == nil || err.Kind != Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	delete(many, "X-0")
	if _, err := (&Policy{}).judgeHeaders(many); err != nil {
		t.Errorf("%d headers: %v", len(many), err)
	}
}

func FuzzHeaders(f *testing.F) {
	for _, seed := range [][4]string{
		{"Accept", "text/html", "X-A", "b"}, {"X", "a\r\nHost: b", "Y", ""}, {"host", "a", "TE", "x"}, {"X\r\nY", "z", "x-y", "z"},
		{"User-Agent", "", "user-agent", "x"}, {"X-Secret", "1", "Content-Length", "5"}, {"Cookie", "a=b; c=d", "Accept-Encoding", "br"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	p := Policy{Secrets: []Credential{{Env: "KEY", Host: "a.example", Header: "X-Secret", Format: "{}"}}}
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		given := map[string]string{name1: value1, name2: value2}
		header, fault := p.judgeHeaders(given)
		if fault != nil {
			return
		}
		var wire bytes.Buffer
		request := &http.Request{Method: "GET", URL: &url.URL{Scheme: "https", Host: "a.example", Path: "/"}, Header: header, Host: "a.example"}
		if err := request.Write(&wire); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(wire.String(), "\r\n\r\n"), "\r\n")
		for name, value := range given {
			if strings.EqualFold(name, "User-Agent") && value == "" {
				continue // net/http leaves it out
			}
			want, found := http.CanonicalHeaderKey(name)+": "+value, 0
			for _, line := range lines[1:] {
				if line == want {
					found++
				}
			}
			if found != 1 {
				t.Errorf("%q is there %d times in %q", want, found, wire.String())
			}
		}
		expected := 1 + 1 + len(header) // the request line and Host
		if header.Get("User-Agent") == "" {
			expected--
		}
		if len(lines) != expected || strings.Count(wire.String(), "\n") != expected+1 {
			t.Errorf("%d lines for %d headers: %q", len(lines), len(header), wire.String())
		}
		read, err := http.ReadRequest(bufio.NewReader(&wire))
		if err != nil {
			t.Fatal(err)
		}
		if read.Host != "a.example" || read.Header.Get("X-Secret") != "" || read.ContentLength != 0 || read.TransferEncoding != nil || read.Close {
			t.Errorf("%q was read as %#v", given, read)
		}
	})
}
