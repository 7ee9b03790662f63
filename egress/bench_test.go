package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"testing"
)

// BenchmarkRequest compares Do with net/http alone: the same server, the same TLS, both
// on connections that are kept, a body of 1 KiB.
func BenchmarkRequest(b *testing.B) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 64)
	for _, version := range versions {
		at := serve(b, version, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
		b.Run(version+"/net-http", func(b *testing.B) {
			pool := x509.NewCertPool()
			pool.AddCert(trusted().root)
			transport := &http.Transport{
				TLSClientConfig:   &tls.Config{RootCAs: pool},
				ForceAttemptHTTP2: true,
				DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, network, at.String())
				},
			}
			defer transport.CloseIdleConnections()
			client := &http.Client{Transport: transport}
			for b.Loop() {
				request, err := http.NewRequestWithContext(b.Context(), "GET", get("/path?q=x").URL, nil)
				if err != nil {
					b.Fatal(err)
				}
				response, err := client.Do(request)
				if err != nil {
					b.Fatal(err)
				}
				text, err := io.ReadAll(response.Body)
				response.Body.Close()
				if err != nil || len(text) != len(body) {
					b.Fatal(len(text), err)
				}
			}
		})
		for name, client := range map[string]func() (*Client, Policy){
			"plain":  func() (*Client, Policy) { return newClient(b, options(at)), all() },
			"secret": func() (*Client, Policy) { return keyed(b, options(at), spelt) },
		} {
			b.Run(version+"/egress-"+name, func(b *testing.B) {
				c, p := client()
				r := get("/path?q=x")
				for b.Loop() {
					response, err := c.Do(b.Context(), p, r)
					if err != nil || len(response.Body) != len(body) {
						b.Fatal(len(response.Body), err)
					}
				}
			})
		}
	}
}
