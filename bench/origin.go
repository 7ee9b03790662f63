package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"time"

	"github.com/loomext/loomext/config"
)

const (
	roleOrigin = "origin"

	// What the fetch tool asks for.
	originHost = "origin.example.test"
	originPath = "/document"
	originURL  = "https://" + originHost + originPath
	originSize = 1 << 10
	originType = "application/json"
)

// origin is a TLS server in a process of its own, as seen from here.
type origin struct {
	root    *x509.Certificate
	address netip.AddrPort
	child   *exec.Cmd
	stay    io.Closer
}

// announcement is what the server says of itself.
type announcement struct {
	Address string
	Root    []byte // DER
}

func startOrigin(ctx context.Context) (*origin, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	o := &origin{child: exec.CommandContext(ctx, self, "-role", roleOrigin)}
	o.child.Stderr = os.Stderr
	if o.stay, err = o.child.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := o.child.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := o.child.Start(); err != nil {
		return nil, err
	}
	var a announcement
	err = json.NewDecoder(bufio.NewReader(out)).Decode(&a)
	if err == nil {
		o.root, err = x509.ParseCertificate(a.Root)
	}
	if err == nil {
		o.address, err = netip.ParseAddrPort(a.Address)
	}
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

// config is an operator's who lets extensions reach the origin.
func (o *origin) config() config.Config {
	c := config.Default()
	c.Egress.Roots = []*x509.Certificate{o.root}
	c.Egress.Resolve = []config.Route{{Host: originHost, Port: config.HTTPS, Address: o.address}}
	c.Egress.Private = []string{originHost}
	return c
}

func (o *origin) close() error { return errors.Join(o.stay.Close(), o.child.Wait()) }

// client is net/http with the settings of TLS that the broker has, and its own of everything else.
func (o *origin) client() *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(o.root)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, o.address.String())
		},
	}}
}

// get reads the document as a program would.
func (o *origin) get(ctx context.Context, c *http.Client) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, originURL, nil)
	if err != nil {
		return err
	}
	response, err := c.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || len(body) != originSize) {
		err = fmt.Errorf("status %d with %d bytes", response.StatusCode, len(body))
	}
	return err
}

// serveOrigin is the server, until its standard input ends.
func serveOrigin(ctx context.Context) int {
	if err := originOf(ctx, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench: origin:", err)
		return exitFault
	}
	return exitFine
}

func originOf(ctx context.Context, stay io.Reader, out io.Writer) error {
	certificate, err := selfSigned()
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	body := jsonText(originSize)
	server := &http.Server{
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", originType)
			_, _ = w.Write(body)
		}),
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(listener, "", "") }()
	err = json.NewEncoder(out).Encode(announcement{Address: listener.Addr().String(), Root: certificate.Certificate[0]})
	if err == nil {
		_, _ = io.Copy(io.Discard, stay)
	}
	err = errors.Join(err, server.Close())
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// selfSigned is a certificate of the origin that is its own root.
func selfSigned() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	const lifetime = time.Hour // longer than any run
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-lifetime), NotAfter: now.Add(lifetime), DNSNames: []string{originHost},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
