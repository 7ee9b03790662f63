package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAFailureOnTheWireSaysWhereAndWhy(t *testing.T) {
	closed := listen(t, nil, func(net.Conn) {})
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := netip.MustParseAddrPort(free.Addr().String())
	free.Close()
	for name, test := range map[string]struct {
		at    netip.AddrPort
		piece string
	}{
		"refused": {nobody, "the connection was refused"},
		"closed":  {closed, "the connection "},
		"no TLS": {listen(t, nil, func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
		}), "it does not speak TLS"},
		"no answer": {serveWire(t, func(c net.Conn) { head(c) }), "the connection was closed without an answer"},
		"no HTTP": {serveWire(t, func(c net.Conn) {
			head(c)
			fmt.Fprint(c, "SSH-2.0-canary\r\n\r\n")
		}), "what it answered is not HTTP"},
		"reset": {listen(t, nil, func(c net.Conn) {
			_ = c.(*net.TCPConn).SetLinger(0)
		}), "the connection was "},
		"half a body": {serveWire(t, func(c net.Conn) {
			head(c)
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		}), "the connection ended in the middle"},
		"half a chunk": {serveWire(t, func(c net.Conn) {
			head(c)
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf")
		}), "the connection ended in the middle"},
		"another protocol": {serveWire(t, func(c net.Conn) {
			head(c)
			fmt.Fprint(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: canary\r\n\r\n")
		}), "status 101"},
	} {
		t.Run(name, func(t *testing.T) {
			e := refused(t, newClient(t, options(test.at)), all(), get("/"), Failed, host+": ")
			if !strings.Contains(e.Msg, test.piece) || strings.Contains(e.Msg, "canary") || strings.Contains(e.Msg, "127.0.0.1") {
				t.Errorf("got %s, want %s", e.Msg, test.piece)
			}
		})
	}
}

func TestACertificateThatDoesNotVerifySaysWhy(t *testing.T) {
	for name, test := range map[string]struct {
		from  *authority
		alter func(*x509.Certificate)
		names []string
		piece string
	}{
		"unknown authority": {newAuthority(), nil, []string{host}, "roots of [egress] in config.toml"},
		"another host":      {trusted(), nil, []string{"canary.example"}, "another host's"},
		"a parent's":        {trusted(), nil, []string{"example.test", "*.test"}, "another host's"},
		"expired": {trusted(), func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, []string{host},
			"has expired"},
		"for a client": {trusted(), func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} },
			[]string{host}, "not valid for a server"},
	} {
		t.Run(name, func(t *testing.T) {
			at := listen(t, &tls.Config{Certificates: []tls.Certificate{test.from.certificate(t, test.alter, test.names...)}}, func(net.Conn) {
				t.Error("the handshake was finished")
			})
			e := refused(t, newClient(t, options(at)), all(), get("/"), Failed, test.piece)
			if !strings.HasPrefix(e.Msg, host+": ") || strings.Contains(e.Msg, "canary") {
				t.Error(e.Msg)
			}
		})
	}
	t.Run("an old version", func(t *testing.T) {
		at := listen(t, &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10, Certificates: []tls.Certificate{trusted().certificate(t, nil, host)}}, func(net.Conn) {})
		refused(t, newClient(t, options(at)), all(), get("/"), Failed, "it ended TLS: protocol version not supported")
	})
}

// The name that is asked for, and held against the certificate, is the URL's, whatever
// the route.
func TestTheServerIsAskedForByTheHostOfTheURL(t *testing.T) {
	var asked atomic.Value
	cert := trusted().certificate(t, nil, host)
	at := listen(t, &tls.Config{GetCertificate: func(h *tls.ClientHelloInfo) (*tls.Certificate, error) {
		asked.Store(h.ServerName)
		return &cert, nil
	}}, func(c net.Conn) {
		head(c)
		fmt.Fprint(c, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	answered(t, newClient(t, options(at)), all(), get("/"))
	if asked.Load() != host {
		t.Errorf("asked for %v", asked.Load())
	}
}

func TestAnOriginThatIsSilentOrSlowEndsByTheDeadline(t *testing.T) {
	answers := map[string]func(c net.Conn, done <-chan struct{}){
		"silent": func(c net.Conn, done <-chan struct{}) { <-done },
		"half a head": func(c net.Conn, done <-chan struct{}) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nX-A: b")
			<-done
		},
		"a body that does not end": func(c net.Conn, done <-chan struct{}) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
			<-done
		},
		"a body that drips": func(c net.Conn, done <-chan struct{}) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			for {
				if _, err := fmt.Fprint(c, "1\r\nx\r\n"); err != nil {
					return
				}
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
				}
			}
		},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			done := make(chan struct{})
			arrived := make(chan struct{}, 4)
			at := serveWire(t, func(c net.Conn) {
				head(c)
				arrived <- struct{}{}
				answer(c, done)
			})
			t.Cleanup(func() { close(done) })
			c := newClient(t, options(at))
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			refusedIn(t, ctx, c, all(), get("/"), Deadline, host+": no whole response by the deadline")

			ctx, cancel = context.WithCancel(t.Context())
			defer cancel()
			for len(arrived) > 0 {
				<-arrived
			}
			go func() { <-arrived; cancel() }()
			refusedIn(t, ctx, c, all(), get("/"), Cancelled, host+": the caller gave up")
		})
	}
}

func TestAHandshakeThatIsNotAnsweredEndsByTheDeadline(t *testing.T) {
	done := make(chan struct{})
	at := listen(t, nil, func(net.Conn) { <-done })
	t.Cleanup(func() { close(done) })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	refusedIn(t, ctx, newClient(t, options(at)), all(), get("/"), Deadline, "deadline")
}

// listenNamed has a certificate for another name, and no answer.
func listenNamed(t *testing.T, name string) netip.AddrPort {
	t.Helper()
	return listen(t, &tls.Config{Certificates: []tls.Certificate{trusted().certificate(t, nil, name)}}, func(net.Conn) {})
}
