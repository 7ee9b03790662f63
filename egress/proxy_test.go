package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy is one that connects every name to an address, as a real one would after a
// look-up of its own.
type proxy struct {
	at netip.AddrPort
	mu sync.Mutex
	// asked are the heads of what it was asked.
	asked []string
}

func serveProxy(t *testing.T, to netip.AddrPort, answer string) *proxy {
	t.Helper()
	p := &proxy{}
	p.at = serveWire(t, func(c net.Conn) {
		text := head(c)
		p.mu.Lock()
		p.asked = append(p.asked, text)
		p.mu.Unlock()
		fmt.Fprint(c, answer)
		if !strings.Contains(answer, " 200 ") {
			return
		}
		upstream, err := net.Dial("tcp", to.String())
		if err != nil {
			return
		}
		defer upstream.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(upstream, c)
			upstream.Close()
		}()
		_, _ = io.Copy(c, upstream)
		c.Close()
		<-done
	})
	return p
}

// through are the options of a client behind a proxy. No host of theirs is private.
func (p *proxy) through() Options {
	return Options{Roots: []*x509.Certificate{trusted().root}, Proxy: &url.URL{Scheme: "https", Host: p.at.String()}}
}

const connected = "HTTP/1.1 200 Connection established\r\n\r\n"

func TestAProxyIsAskedToConnectAndSeesNothingElse(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			origin := serve(t, version, func(w http.ResponseWriter, r *http.Request) {
				if r.TLS.ServerName != host || r.Header.Get("X-Api-Key") != "Bearer "+spelt || r.Header.Get("Proxy-Authorization") != "" {
					t.Errorf("%s got %v", r.TLS.ServerName, r.Header)
				}
				fmt.Fprint(w, r.Proto)
			})
			p := serveProxy(t, origin, connected)
			c, policy := keyed(t, p.through(), spelt)
			for range 3 {
				if response := answered(t, c, policy, get("/path")); string(response.Body) != version {
					t.Errorf("got %s", response.Body)
				}
			}
			want := "CONNECT " + host + ":443 HTTP/1.1\r\nHost: " + host + ":443\r\nUser-Agent: " + userAgent + "\r\n\r\n"
			if len(p.asked) != 1 || p.asked[0] != want {
				t.Errorf("the proxy was asked %q", p.asked)
			}
		})
	}
}

func TestARoutedHostIsDialedEvenBehindAProxy(t *testing.T) {
	p := serveProxy(t, netip.AddrPort{}, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
	o := options(serve(t, "HTTP/1.1", func(http.ResponseWriter, *http.Request) {}))
	o.Proxy = p.through().Proxy
	answered(t, newClient(t, o), all(), get("/"))
	if len(p.asked) > 0 {
		t.Errorf("the proxy was asked %q", p.asked)
	}
}

func TestAProxyThatDoesNotConnectIsAFailure(t *testing.T) {
	for answer, piece := range map[string]string{
		"HTTP/1.1 407 canary\r\nProxy-Authenticate: Basic realm=canary\r\n\r\n": "it wants a password",
		"HTTP/1.1 403 canary\r\nContent-Length: 6\r\n\r\ncanary":                "it answered with status 403",
		"HTTP/1.1 302 canary\r\nLocation: https://canary.example/\r\n\r\n":      "it answered with status 302",
		"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 canary\r\n\r\n":                    "",
		"canary\r\n\r\n": "what it answered is not HTTP",
		"":               "the connection ended in the middle",
		"HTTP/1.1 403 " + strings.Repeat("a", 2*maxConnectHead) + "\r\n\r\n": "the connection ended in the middle",
	} {
		p := serveProxy(t, netip.AddrPort{}, answer)
		e := refused(t, newClient(t, p.through()), all(), get("/"), Failed, piece)
		if strings.Contains(e.Msg, "canary") || strings.Contains(e.Msg, "127.0.0.1") || piece != "" && !strings.HasPrefix(e.Msg, "the proxy of [egress]: ") {
			t.Errorf("%q: %s", answer, e.Msg)
		}
	}
	t.Run("not trusted", func(t *testing.T) {
		at := listen(t, &tls.Config{Certificates: []tls.Certificate{newAuthority().certificate(t, nil)}}, func(net.Conn) {})
		p := &proxy{at: at}
		refused(t, newClient(t, p.through()), all(), get("/"), Failed, "the proxy of [egress]: its certificate is signed by nobody")
	})
	t.Run("not there", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		p := &proxy{at: netip.MustParseAddrPort(l.Addr().String())}
		refused(t, newClient(t, p.through()), all(), get("/"), Failed, "the proxy of [egress]: the connection was refused")
	})
	t.Run("silent", func(t *testing.T) {
		done := make(chan struct{})
		at := serveWire(t, func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			<-done
		})
		t.Cleanup(func() { close(done) })
		p := &proxy{at: at}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		refusedIn(t, ctx, newClient(t, p.through()), all(), get("/"), Deadline, host)
	})
}

// A proxy that passes the connection to somebody else is found out by the certificate.
func TestBehindAProxyTheCertificateIsStillTheHosts(t *testing.T) {
	p := serveProxy(t, listenNamed(t, "elsewhere.example"), connected)
	refused(t, newClient(t, p.through()), all(), get("/"), Failed, host+": its certificate is another host's")
}
