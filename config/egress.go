package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/loomext/loomext/internal/tomlfile"
)

func (d *decoder) egress(n tomlfile.Node) {
	s, ok := d.faults.Open("egress", n)
	if !ok {
		return
	}
	if n, ok := s.Get("roots"); ok {
		d.roots(s, n)
	}
	if n, ok := s.Get("resolve"); ok {
		d.resolve(s, n)
	}
	if n, ok := s.Get("private"); ok {
		if items, ok := s.Array(n, "private", maxHosts, "host names"); ok {
			d.c.Egress.Private = s.Hosts(items, "private")
		}
	}
	if n, ok := s.Get("proxy"); ok && n.Value != "" {
		d.proxy(s, n)
	}
}

func (d *decoder) resolve(s tomlfile.Section, n tomlfile.Node) {
	items, ok := s.Array(n, "resolve", maxHosts, "routes")
	if !ok {
		return
	}
	for _, item := range items {
		text, ok := s.Text(item, "resolve", maxRoute, "")
		if !ok {
			continue
		}
		route, msg, fix := parseRoute(text)
		switch {
		case msg != "":
			s.Fault(item, "resolve", tomlfile.Quote(text)+": "+msg, fix)
		case slices.ContainsFunc(d.c.Egress.Resolve, func(other Route) bool { return other.Host == route.Host && other.Port == route.Port }):
			s.Fault(item, "resolve", tomlfile.Quote(route.Host)+" is routed twice", "keep one address for it")
		default:
			d.c.Egress.Resolve = append(d.c.Egress.Resolve, route)
		}
	}
}

// parseRoute reads host:port:address:port. Where msg is not empty it says what is wrong.
func parseRoute(text string) (route Route, msg, fix string) {
	const form = `write host:443:address:port, like "api.example.com:443:127.0.0.1:8443", an IPv6 address in brackets`
	parts := strings.SplitN(text, ":", 3)
	if len(parts) < 3 || parts[1] == "" || strings.Trim(parts[1], "0123456789") != "" {
		return route, "this is not a route", form
	}
	host, port, address := parts[0], parts[1], parts[2]
	if msg, fix, bad := tomlfile.HostFault(host); bad {
		return route, msg, fix
	}
	if port != strconv.Itoa(HTTPS) {
		return route, "extensions' requests go to port 443 alone, so this route would never be taken", "write " + host + ":443:… and the port to dial at the end"
	}
	to, err := netip.ParseAddrPort(address)
	switch addr := to.Addr(); {
	case err != nil || to.Port() == 0 || to.String() != address:
		return route, tomlfile.Quote(address) + " is not an address and a port", form
	case addr.Zone() != "":
		return route, "the address has a zone", "write an address that means the same on every interface"
	case addr.Is4In6():
		return route, "this is an IPv4 address in IPv6 form", "write " + addr.Unmap().String()
	case addr.IsUnspecified() || addr.IsMulticast():
		return route, addr.String() + " is the address of no single machine", "write the address to dial"
	}
	return Route{Host: host, Port: HTTPS, Address: to}, "", ""
}

// proxy reads the URL of a proxy. What may be a password in it is never repeated.
func (d *decoder) proxy(s tomlfile.Section, n tomlfile.Node) {
	const form = `write one like "https://proxy.example.com:3128"`
	text, ok := s.Text(n, "proxy", maxProxy, "")
	if !ok {
		return
	}
	if strings.Contains(text, "@") {
		s.Fault(n, "proxy", "the URL holds a user or a password, which this file is no place for", "leave them out; such a proxy is not supported")
		return
	}
	fault := func(msg, fix string) { s.Fault(n, "proxy", tomlfile.Quote(text)+" "+msg, fix) }
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Opaque != "" || u.Scheme == "" || u.Host == "":
		fault("is not the URL of a proxy", form)
	case u.Scheme != "https":
		fault("is spoken to in the clear, or not at all", "write https://, and a proxy that speaks it")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		fault("says more than where the proxy is", form)
	case !isProxyHost(u.Hostname()):
		fault("names no host or address", form)
	case !isProxyPort(u):
		fault("has no port from 1 to 65535", form)
	default:
		d.c.Egress.Proxy = &url.URL{Scheme: "https", Host: u.Host}
	}
}

// isProxyHost is an address, or a name of the letters that names have. A name without a dot is
// a proxy's as well as any.
func isProxyHost(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Zone() == ""
	}
	_, _, bad := tomlfile.HostFault(host)
	if !strings.Contains(host, ".") {
		_, _, bad = tomlfile.HostFault(host + ".internal")
	}
	return !bad
}

// isProxyPort wants a port that can be dialed, or none.
func isProxyPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && port > 0
}
