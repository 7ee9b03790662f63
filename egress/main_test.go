package egress

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The hosts of the tests. Nobody has them: they are reached by a route.
const (
	host  = "api.example.test"
	other = "other.example.test"
)

// authority signs the certificates of the tests' servers.
type authority struct {
	root *x509.Certificate
	key  *ecdsa.PrivateKey
}

var trusted = sync.OnceValue(newAuthority)

func newAuthority() *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests of egress"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return &authority{root, key}
}

// certificate is a server's, valid until an hour from now unless alter says otherwise.
func (a *authority) certificate(t testing.TB, alter func(*x509.Certificate), names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, DNSNames: names,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if alter != nil {
		alter(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.root, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// versions of HTTP that every exchange is tried in.
var versions = []string{"HTTP/1.1", "HTTP/2.0"}

// serve runs a server for the tests' hosts until the test ends.
func serve(t testing.TB, version string, h http.HandlerFunc) netip.AddrPort {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = version == versions[1]
	s.TLS = &tls.Config{Certificates: []tls.Certificate{trusted().certificate(t, nil, host, other)}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return netip.MustParseAddrPort(s.Listener.Addr().String())
}

// serveWire runs a TLS server that answers each connection by hand.
func serveWire(t testing.TB, answer func(net.Conn)) netip.AddrPort {
	t.Helper()
	return listen(t, &tls.Config{Certificates: []tls.Certificate{trusted().certificate(t, nil, host, other)}}, answer)
}

// listen takes connections until the test ends, and ends those it took.
func listen(t testing.TB, config *tls.Config, answer func(net.Conn)) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			running.Go(func() {
				defer c.Close()
				if config == nil {
					answer(c)
					return
				}
				s := tls.Server(c, config)
				if s.Handshake() == nil {
					answer(s)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return netip.MustParseAddrPort(l.Addr().String())
}

// head reads a request up to the end of its headers.
func head(c net.Conn) string {
	var text strings.Builder
	b := make([]byte, 1)
	for !strings.HasSuffix(text.String(), "\r\n\r\n") {
		if _, err := io.ReadFull(c, b); err != nil {
			return text.String()
		}
		text.WriteByte(b[0])
	}
	return text.String()
}

// options reach the tests' hosts at an address.
func options(at netip.AddrPort) Options {
	return Options{
		Roots:   []*x509.Certificate{trusted().root},
		Resolve: []Route{{host, 443, at}, {other, 443, at}},
		Private: []string{host, other},
	}
}

func newClient(t testing.TB, o Options) *Client {
	t.Helper()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// all permits the tests' host everything, up to 1 MiB.
func all() Policy {
	return Policy{Hosts: []string{host}, Methods: methods, MaxResponseBytes: 1 << 20}
}

func get(path string) Request { return Request{Method: "GET", URL: "https://" + host + path} }

// answered is a request that must get a response.
func answered(t testing.TB, c *Client, p Policy, r Request) Response {
	t.Helper()
	response, err := c.Do(t.Context(), p, r)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	return response
}

// refused is a request that must not.
func refused(t testing.TB, c *Client, p Policy, r Request, kind Kind, piece string) *Error {
	t.Helper()
	return refusedIn(t, t.Context(), c, p, r, kind, piece)
}

func refusedIn(t testing.TB, ctx context.Context, c *Client, p Policy, r Request, kind Kind, piece string) *Error {
	t.Helper()
	response, err := c.Do(ctx, p, r)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%s %s: got %d and %v, want kind %s", r.Method, r.URL, response.Status, err, kind)
	}
	if e.Kind != kind || !strings.Contains(e.Msg, piece) {
		t.Errorf("%s %s: got kind %q, %s; want kind %q and %q", r.Method, r.URL, e.Kind, e.Msg, kind, piece)
	}
	if response.Status != 0 || response.Headers != nil || response.Body != nil {
		t.Errorf("%s %s: there is a response beside the error", r.Method, r.URL)
	}
	return e
}

// unasked fails the test if its server is asked anything.
func unasked(t *testing.T) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s left", r.Method, r.URL) }
}
