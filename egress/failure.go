package egress

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"
)

// errClosed ends requests of a client that was closed.
var errClosed = &Error{Kind: Cancelled, Msg: "the client was closed; make another"}

// wireError puts a failure on the way to a place into words. The texts of errors
// are not repeated: names in a certificate, a status line and a look-up's answer
// are the other side's.
func wireError(place string, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return errorf(Failed, "%s: %s", place, cmp.Or(tlsFault(err), netFault(err), httpFault(err)))
}

// handshakeError does the same for what went wrong in a handshake.
func handshakeError(place string, err error) *Error {
	return errorf(Failed, "%s: %s", place, cmp.Or(tlsFault(err), netFault(err), "the TLS handshake failed"))
}

func tlsFault(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its certificate is signed by nobody who is trusted here; the operator can name its authority in roots of [egress] in config.toml"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "its certificate is another host's"
	}
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if e.Reason == x509.Expired {
			return "its certificate has expired, or is not valid yet; look at the clocks of both machines"
		}
		return "its certificate is not valid for a server"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate does not verify"
	}
	if _, ok := errors.AsType[x509.SystemRootsError](err); ok {
		return "the system's trusted roots cannot be read; install them, or name roots in [egress] of config.toml"
	}
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "remote error" {
		return "it ended TLS: " + strings.TrimPrefix(e.Err.Error(), "tls: ") // an alert, one of a fixed list
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "it does not speak TLS"
	}
	return ""
}

func netFault(err error) string {
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		switch {
		case e.IsNotFound:
			return "there is no such host; check the name"
		case e.IsTimeout:
			return "its name could not be looked up in time"
		}
		return "its name could not be looked up"
	}
	if _, ok := errors.AsType[*net.AddrError](err); ok {
		return "it has no address of a kind that this machine can reach"
	}
	for _, known := range []struct {
		err  error
		what string
	}{
		{errUnasked, "it sends before it is asked"},
		{syscall.ECONNREFUSED, "the connection was refused"},
		{syscall.ECONNRESET, "the connection was reset"},
		{syscall.EPIPE, "the connection was closed while the request was sent"},
		{syscall.EHOSTUNREACH, "there is no route to it"},
		{syscall.ENETUNREACH, "there is no network to it"},
		{syscall.ETIMEDOUT, "it does not answer"},
		{context.DeadlineExceeded, "it does not answer"},
		{io.ErrUnexpectedEOF, "the connection ended in the middle"},
		{io.EOF, "the connection was closed without an answer"},
	} {
		if errors.Is(err, known.err) {
			return known.what
		}
	}
	return ""
}

// httpFault looks at the texts of net/http where it has no types.
func httpFault(err error) string {
	text := err.Error()
	switch {
	case isHeadTooLarge(text):
		return "the head of its response is too large"
	case strings.Contains(text, "malformed"):
		return "what it answered is not HTTP"
	case strings.Contains(text, "stream error"), strings.Contains(text, "connection error"), strings.Contains(text, "GOAWAY"), strings.Contains(text, "http2:"):
		return "HTTP/2 failed, or the host ended the stream"
	case strings.Contains(text, "closed"), strings.Contains(text, "broken"), strings.Contains(text, "EOF"):
		return "the connection ended"
	}
	return "the exchange failed"
}

// isHeadTooLarge knows the words that net/http has for it, in HTTP/1.1 and HTTP/2.
func isHeadTooLarge(text string) bool {
	return strings.Contains(text, "response headers exceeded") || strings.Contains(text, "header list larger")
}

// over says how a context ended a request. began is the context as the caller gave it.
func over(began context.Context, place string) *Error {
	switch began.Err() {
	case context.DeadlineExceeded:
		return errorf(Deadline, "%s: no whole response by the deadline", place)
	case context.Canceled:
		return errorf(Cancelled, "%s: the caller gave up", place)
	}
	return errorf(Deadline, "%s: no whole response within %s, which is what a request has; ask for less", place, RequestTime.Round(time.Second))
}
