package egress

import (
	"net/http"
	"net/url"
	"strings"
)

const (
	// maxRedirects is how many are followed, as many as a moved resource and its
	// canonical spelling need.
	maxRedirects = 2
	// maxDrain is what of a redirect's body is read so that the connection can be kept, in
	// bytes: the page that says where it went.
	maxDrain = 16 << 10
)

// isRedirect is true for the statuses that say where to send the request. One of
// them without a Location is a response like any other.
func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// redirect judges where a response leads, and makes the request that goes there.
func (e *exchange) redirect(hop, status int, location []string) (target, *Error) {
	host := e.to.host
	if len(location) > 1 {
		return target{}, errorf(NotAllowed, "%s: it redirects to several places at once; ask for the resource where it is", host)
	}
	to, ok := resolve(e.to, location[0])
	switch {
	case !ok:
		return target{}, errorf(NotAllowed, "%s: it redirects to what is not a plain https URL%s; ask for the resource where it is", host, e.inTheClear(location[0]))
	case to.host != host:
		return target{}, errorf(NotAllowed, "%s: it redirects to another host%s, which is not followed; ask there, if that host was approved", host, e.named(to.host))
	case hop >= maxRedirects:
		return target{}, errorf(Ceiling, "%s: it redirects more than %d times; ask for the resource where it is", host, maxRedirects)
	}
	e.rewrite(status)
	if e.judgeMethod() != nil {
		return target{}, errorf(NotAllowed, "%s: it redirects to where the method is %s, which was not approved; ask for the resource where it is", host, e.method)
	}
	return to, nil
}

// named is a host for a message, of the origin's choice. It is a well-formed name, and
// no secret that was put into one, where case says nothing.
func (e *exchange) named(host string) string {
	for _, r := range e.sent {
		if r.folded(e.ctx, host) {
			return ""
		}
	}
	return ", " + host
}

// inTheClear names the host of an http URL, if that is what a Location is.
func (e *exchange) inTheClear(location string) string {
	rest, ok := strings.CutPrefix(location, "http://")
	if !ok {
		return ""
	}
	to, err := readURL(scheme + "://" + rest)
	if err != nil {
		return ""
	}
	return ", but http in the clear" + e.named(to.host)
}

// resolve reads a Location from where the request went. A fragment, which is legal
// here, is dropped. net/url resolves a relative one; what it makes of it is then judged
// as a requester's URL is.
func resolve(from target, location string) (target, bool) {
	location, _, _ = strings.Cut(location, "#")
	if location != "" && readable(location) != nil || strings.HasPrefix(location, "///") {
		return target{}, false
	}
	if !strings.HasPrefix(location, scheme+"://") {
		reference, err := url.Parse(location)
		if err != nil || reference.Scheme != "" {
			return target{}, false
		}
		location = from.url().ResolveReference(reference).String()
	}
	to, err := readURL(location)
	return to, err == nil
}

// rewrite is what browsers do: 303 asks for another resource, and so in practice do
// 301 and 302 after a POST.
func (e *exchange) rewrite(status int) {
	e.header = e.header.Clone() // the old one may still be on its way
	switch {
	case e.method == http.MethodGet || e.method == http.MethodHead:
		return
	case status == http.StatusSeeOther:
	case status == http.StatusMovedPermanently && e.method == http.MethodPost:
	case status == http.StatusFound && e.method == http.MethodPost:
	default:
		return
	}
	e.method, e.body = http.MethodGet, nil
	for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Location"} {
		delete(e.header, name)
	}
}
