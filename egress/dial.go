package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// callKey is where a request's context has that of the whole call.
type callKey struct{}

// dial opens a connection for net/http, up to and with TLS. net/http keeps a dial that
// a request started alive beyond it, for others to take the connection. Here it ends
// with its call: requests that are given up in a row must not leave dials behind, each
// with a descriptor.
func (c *Client) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if !c.enter() {
		return nil, errClosed
	}
	defer c.running.Done()
	ctx, cancel := context.WithTimeout(ctx, RequestTime)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	if call, ok := ctx.Value(callKey{}).(context.Context); ok {
		defer context.AfterFunc(call, cancel)()
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errorf(Failed, "%s: it cannot be dialed", quote(address))
	}
	raw, err := c.connect(ctx, host)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, c.tlsConfig(host, "h2", "http/1.1"))
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, handshakeError(host, err)
	}
	if conn.ConnectionState().NegotiatedProtocol == "h2" {
		return conn, nil
	}
	return &conn1{Conn: conn}, nil
}

func (c *Client) tlsConfig(host string, protocols ...string) *tls.Config {
	return &tls.Config{RootCAs: c.roots, ServerName: host, NextProtos: protocols, MinVersion: tls.VersionTLS12}
}

// connect opens what TLS to the host is spoken over. A route is the operator's word
// for where the host is, so it is dialed even where there is a proxy.
func (c *Client) connect(ctx context.Context, host string) (net.Conn, error) {
	to, routed := c.routes[host]
	switch {
	case routed:
		return c.dialChecked(ctx, host, to.String())
	case c.proxy != "":
		return c.tunnel(ctx, host)
	}
	return c.dialChecked(ctx, host, net.JoinHostPort(host, port))
}

// dialChecked connects to an address that may be a host's. Control is called with
// the address that the socket is about to connect to, after every look-up, so
// there is no second look-up that could answer otherwise.
func (c *Client) dialChecked(ctx context.Context, host, address string) (net.Conn, error) {
	dialer := net.Dialer{Resolver: c.resolver}
	if !slices.Contains(c.private, host) {
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return checkAddress(host, address)
		}
	}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, wireError(host, err)
	}
	return conn, nil
}

// checkAddress says which kind of address is refused, and not which address: what
// stands where in a private network is not the requester's to learn.
func checkAddress(host, address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return errorf(NotAllowed, "%s: what its name leads to is no address", host)
	}
	kind := special(to.Addr())
	if kind == "" && isOwn(to.Addr()) {
		kind = "this machine's"
	}
	if kind != "" {
		return errorf(NotAllowed, "%s: its address is %s, and no public host's; if that is meant, the operator names the host in private of [egress] in config.toml", host, kind)
	}
	return nil
}

// theProxy is its name in messages: its address is not the requester's to learn.
const theProxy = "the proxy of [egress]"

// maxConnectHead bounds what a proxy answers before the tunnel stands, in bytes.
const maxConnectHead = 16 << 10

// tunnel asks the proxy for a connection to the host. The proxy looks the name up
// and connects, so the address is for it to judge.
func (c *Client) tunnel(ctx context.Context, host string) (net.Conn, error) {
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", c.proxy)
	if err != nil {
		return nil, wireError(theProxy, err)
	}
	name, _, _ := net.SplitHostPort(c.proxy)
	conn := tls.Client(raw, c.tlsConfig(name, "http/1.1"))
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, handshakeError(theProxy, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	err = askProxy(conn, net.JoinHostPort(host, port))
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = raw.Close()
		return nil, wireError(theProxy, err)
	}
	return conn, nil
}

func askProxy(conn net.Conn, address string) error {
	if _, err := io.WriteString(conn, "CONNECT "+address+" HTTP/1.1\r\nHost: "+address+"\r\nUser-Agent: "+userAgent+"\r\n\r\n"); err != nil {
		return err
	}
	reader := bufio.NewReader(io.LimitReader(conn, maxConnectHead))
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	switch {
	case response.StatusCode == http.StatusProxyAuthRequired:
		return errorf(Failed, theProxy+": it wants a password, which is not supported; use one that does not")
	case response.StatusCode != http.StatusOK:
		return errorf(Failed, theProxy+": it answered with status %d in place of a connection; see its log", response.StatusCode)
	case reader.Buffered() > 0: // a TLS server does not speak first
		return errorf(Failed, theProxy+": it sent something in place of a connection")
	}
	return nil
}
