package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/manifest"
)

// BenchmarkRequest compares a brokered request with the same by net/http, both on kept-alive connections.
func BenchmarkRequest(b *testing.B) {
	body := make([]byte, 1<<10)
	c, server := origin(b, func(w http.ResponseWriter, _ *http.Request) { w.Write(body) })
	b.Run("brokered", func(b *testing.B) {
		broker, err := New(Options{Config: c})
		if err != nil {
			b.Fatal(err)
		}
		defer broker.Close()
		s := broker.Open(terms(manifest.Net{}), "s")
		args := request("GET", "/")
		for b.Loop() {
			if r := s.Begin(nil, nil).Serve(context.Background(), "net.request", args); !r.OK {
				b.Fatal(r.Fault)
			}
		}
	})
	b.Run("net-http", func(b *testing.B) {
		roots := x509.NewCertPool()
		roots.AddCert(server.Certificate())
		transport := &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots},
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
			},
		}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		for b.Loop() {
			response, err := client.Get("https://" + host + "/")
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadAll(response.Body); err != nil {
				b.Fatal(err)
			}
			response.Body.Close()
		}
	})
}

// BenchmarkServe is what a call costs that does nearly nothing.
func BenchmarkServe(b *testing.B) {
	broker, err := New(Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer broker.Close()
	i := broker.Open(Terms{Extension: "e", Requested: everything, Granted: everything}, "s").Begin(nil, nil)
	args := wire.Map(arg("key", wire.String("k")))
	b.ReportAllocs()
	for b.Loop() {
		i.Serve(context.Background(), "kv.get", args)
	}
}
