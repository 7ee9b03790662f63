package mcp

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A page in a browser can make that browser call a server of this machine. What
// gives it away is in headers that a page cannot set: a name that was made to
// resolve to this machine is in Host, and the page's own place in Origin.

// ownHost reports whether a request that came in over loopback is for loopback.
func ownHost(r *http.Request) bool {
	local := localAddress(r)
	return !local.IsValid() || !local.Addr().Unmap().IsLoopback() || isLoopbackName(r.Host)
}

// ownOrigin reports whether a request comes from no page, or from one that this
// server itself would have served.
func ownOrigin(r *http.Request) bool {
	for _, value := range r.Header.Values("Origin") {
		origin, err := url.Parse(value)
		if err != nil || origin.Scheme != "http" || !isLoopbackName(origin.Host) {
			return false
		}
		port := cmp.Or(origin.Port(), "80") // that of the scheme
		if local := localAddress(r); local.IsValid() && strconv.Itoa(int(local.Port())) != port {
			return false
		}
	}
	return true
}

// localAddress is the address that the request came in at.
func localAddress(r *http.Request) netip.AddrPort {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return at.AddrPort()
	}
	return netip.AddrPort{}
}

// isLoopbackName reports whether a host, with a port or without, is this machine
// and can be nothing else.
func isLoopbackName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// timedWriter gives each part of an answer a time to be taken in. An answer as a
// whole has none: a stream may last as long as its session.
type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	within  time.Duration
}

func newTimedWriter(w http.ResponseWriter, within time.Duration) *timedWriter {
	t := &timedWriter{ResponseWriter: w, control: http.NewResponseController(w), within: within}
	t.renew()
	return t
}

func (t *timedWriter) renew() { _ = t.control.SetWriteDeadline(time.Now().Add(t.within)) }

func (t *timedWriter) Write(p []byte) (int, error) {
	t.renew()
	return t.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController], which flushes through it.
func (t *timedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }
