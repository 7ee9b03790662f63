package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// root is a certificate of a test's own authority.
type root struct {
	certificate *x509.Certificate
	pem, key    string
}

func newRoot(t testing.TB, name string) root {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return root{
		certificate: certificate,
		pem:         string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		key:         string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})),
	}
}

func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNoFileIsTheDefault(t *testing.T) {
	for _, home := range []string{t.TempDir(), filepath.Join(t.TempDir(), "no", "home")} {
		if c, err := Load(home); err != nil || !reflect.DeepEqual(c, Default()) {
			t.Errorf("%s: got %+v, %v", home, c, err)
		}
	}
}

func TestLoad(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	path := write(t, home, FileName, "[ceilings]\ntimeout_ms = 5\n[secrets]\nA = { file = \"a\" }\n")
	c, err := Load(home)
	if err != nil || c.Path != path || c.Ceilings.Timeout != 5*time.Millisecond || c.Secrets["A"].File != filepath.Join(home, "a") {
		t.Errorf("got %+v, %v", c, err)
	}
	// A link is followed, and what is relative in the file begins where the link is.
	if err := os.Rename(path, filepath.Join(elsewhere, "x.toml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(elsewhere, "x.toml"), path); err != nil {
		t.Fatal(err)
	}
	if linked, err := Load(home); err != nil || !reflect.DeepEqual(linked, c) {
		t.Errorf("got %+v, %v, want %+v", linked, err, c)
	}
}

func TestLoadRefusesWhatIsNoFile(t *testing.T) {
	tests := map[string]struct {
		put  func(t *testing.T, path string) error
		says string
	}{
		"a directory": {func(_ *testing.T, path string) error { return os.Mkdir(path, 0o700) }, "this is a directory; put a regular file there, or a link to one"},
		"a pipe":      {func(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o600) }, "this is a pipe"},
		"a device":    {func(_ *testing.T, path string) error { return os.Symlink("/dev/zero", path) }, "this is a device"},
		"a socket": {func(t *testing.T, path string) error {
			listener, err := net.Listen("unix", path)
			if err == nil {
				t.Cleanup(func() { _ = listener.Close() })
			}
			return err
		}, "this is a socket"},
		"a link to nothing": {func(_ *testing.T, path string) error { return os.Symlink("nothing", path) }, "it cannot be read: no such file or directory"},
		"a link to itself":  {func(_ *testing.T, path string) error { return os.Symlink(FileName, path) }, "it cannot be read: too many levels of symbolic links"},
		"a large file":      {func(_ *testing.T, path string) error { return os.WriteFile(path, make([]byte, MaxFile+5), 0o600) }, "the file has 1048581 bytes, the bound is 1048576"},
		"a shut file": {func(t *testing.T, path string) error {
			if os.Geteuid() == 0 {
				t.Skip("root reads everything")
			}
			return os.WriteFile(path, nil, 0)
		}, "it cannot be read: permission denied; let this user read it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, FileName)
			if err := test.put(t, path); err != nil {
				t.Fatal(err)
			}
			c, err := Load(home)
			if err == nil || !strings.HasPrefix(err.Error(), "config: "+path+": "+test.says) {
				t.Errorf("got %+v, %v, want it to say %q", c, err, test.says)
			}
		})
	}
	file := write(t, t.TempDir(), "home", "")
	if _, err := Load(file); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a home that is a file: got %v", err)
	}
}

func TestRoots(t *testing.T) {
	dir := t.TempDir()
	one, two := newRoot(t, "One"), newRoot(t, "Two")
	both := write(t, dir, "both.pem", "# One\n"+one.pem+"\n# Two\n"+two.pem)
	write(t, dir, "one.pem", one.pem)
	c, err := Decode([]byte("[egress]\nroots = [\"one.pem\", '"+both+"']\n"), dir)
	if err != nil || len(c.Egress.Roots) != 3 || c.Egress.Roots[2].Subject.CommonName != "Two" {
		t.Fatalf("got %v, %v", c.Egress.Roots, err)
	}
	broken := strings.Replace(one.pem, "A", "!", 1)
	for name, test := range map[string]struct{ text, says string }{
		"nothing":           {"", "it holds no certificate in PEM form"},
		"DER":               {string(one.certificate.Raw), "it holds no certificate in PEM form"},
		"a key":             {one.key, `it holds a block of type "PRIVATE KEY"`},
		"a key beside":      {one.pem + one.key, `it holds a block of type "PRIVATE KEY"`},
		"half":              {one.pem[:len(one.pem)/2], "of 1 blocks 1 are not whole"},
		"a broken one last": {one.pem + broken, "of 2 blocks 1 are not whole"},
		"a broken one":      {broken + one.pem, "of 2 blocks 1 are not whole"},
		"no certificate":    {one.pem + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate 2 cannot be parsed"},
		"too many":          {strings.Repeat(one.pem, maxCertificates+1), "more than 500 certificates"},
		"too much":          {strings.Repeat("#", maxRootFile+1), "the bound is 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, t.TempDir(), "ca.pem", test.text)
			_, err := Decode([]byte("[egress]\nroots = ['"+path+"']\n"), dir)
			if err == nil || !strings.Contains(err.Error(), "config.toml:2: [egress] roots: "+path+": ") || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want it to say %q", err, test.says)
			}
		})
	}
	for path, says := range map[string]string{
		"none.pem":             "/none.pem: it cannot be read: no such file or directory; put the file there, or correct the path",
		".":                    ": this is a directory",
		"/dev/zero":            "/dev/zero: this is a device",
		"one.pem', './one.pe":  "/one.pe: it cannot be read",
		"one.pem', './one.pem": `one.pem" is named twice`,
	} {
		if _, err := Decode([]byte("[egress]\nroots = ['"+path+"']\n"), dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want it to say %q", path, err, says)
		}
	}
}
