package config

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomext/loomext/internal/tomlfile"
)

// FuzzDecode holds that decoding is total: a Config within its bounds, or faults that stand in
// the file and show nothing hidden.
func FuzzDecode(f *testing.F) {
	for _, test := range faultTests {
		f.Add([]byte(test.text))
	}
	f.Add([]byte("[egress]\nroots = [\"ca.pem\"]\nresolve = [\"a.example:443:[::1]:1\"]\nprivate = [\"a.example\"]\nproxy = \"https://[::1]:1\"\n" +
		"[ceilings]\nmax_response_bytes = 1\ntimeout_ms = 1\n[secrets]\nA.file = \"x\"\nB = { command = [\"x\", \"y\"] }\n"))
	dir := f.TempDir()
	write(f, dir, "ca.pem", newRoot(f, "Root").pem)
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Decode(text, dir)
		if err != nil {
			checkFaults(t, err, 1+bytes.Count(text, []byte("\n")))
			return
		}
		if c.Ceilings.MaxResponseBytes < 1 || c.Ceilings.MaxResponseBytes > MaxResponseBytes || c.Ceilings.Timeout <= 0 || c.Ceilings.Timeout > MaxTimeout {
			t.Errorf("ceilings: %+v", c.Ceilings)
		}
		for _, route := range c.Egress.Resolve {
			if again, msg, _ := parseRoute(route.Host + ":443:" + route.Address.String()); msg != "" || again != route {
				t.Errorf("route %v: %s", route, msg)
			}
		}
		if p := c.Egress.Proxy; p != nil && (p.Scheme != "https" || p.User != nil || p.Host == "" || p.String() != "https://"+p.Host) {
			t.Errorf("proxy %v", p)
		}
		for name, source := range c.Secrets {
			if !tomlfile.IsVariable(name) || (source.File == "") == (len(source.Command) == 0) || source.File != "" && !filepath.IsAbs(source.File) {
				t.Errorf("secret %q: %+v", name, source)
			}
		}
	})
}

func checkFaults(t *testing.T, err error, lines int) {
	t.Helper()
	var refusal *Error
	if !errors.As(err, &refusal) || len(refusal.Faults) == 0 {
		t.Fatalf("no faults: %v", err)
	}
	for _, fault := range refusal.Faults {
		if fault.Line < 1 || fault.Line > lines || fault.Msg == "" || fault.Fix == "" || strings.ContainsRune(fault.Error(), '\n') {
			t.Errorf("line %d of %d: %q", fault.Line, lines, fault.Error())
		}
		if name, found := tomlfile.Hidden(fault.Error(), ""); found {
			t.Errorf("%s in %q", name, fault.Error())
		}
	}
}

// FuzzRoots holds that a file of certificates gives certificates or a reason.
func FuzzRoots(f *testing.F) {
	one := newRoot(f, "Root")
	for _, text := range []string{"", one.pem, one.key, one.pem + one.pem, one.pem[:100], "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		certificates, msg := parseRoots(text)
		if (msg == "") != (len(certificates) > 0) {
			t.Errorf("%d certificates, %q", len(certificates), msg)
		}
		if name, found := tomlfile.Hidden(msg, ""); found {
			t.Errorf("%s in %q", name, msg)
		}
	})
}
