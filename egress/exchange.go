package egress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	// maxRequestBody is the size of a request's body, in bytes: half of the frame that
	// brought it.
	maxRequestBody = 8 << 20
	// maxInterim is how many responses of 1xx a host may send before the one that counts.
	// One or two are in use.
	maxInterim = 8
	// maxTries is how often one request is sent. net/http sends it again where a
	// connection that was kept turns out to be dead, which is once in honest use.
	maxTries = 2
)

// methods are those that are ever sent. CONNECT and TRACE are about connections, not
// resources.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// exchange is one call of Do: a request and the redirects it leads to.
type exchange struct {
	client *Client
	policy *Policy
	ctx    context.Context // of the whole call
	stop   context.CancelFunc
	began  context.Context // as the caller gave it

	to     target
	method string
	header http.Header // of the next request; what net/http was given is not changed any more
	body   []byte
	asked  bool // for gzip, by ourselves

	sent []*reflection // secrets that left, those of earlier hops included

	conn    *conn1       // that has the request, where it speaks HTTP/1.1
	turn    uint64       // which of its exchanges this is
	interim atomic.Int32 // responses of 1xx; counted by net/http's reader
	tries   atomic.Int32 // connections that the request was given
}

func (c *Client) do(ctx context.Context, p *Policy, r *Request) (Response, *Error) {
	e := &exchange{client: c, policy: p, began: ctx, method: r.Method, body: r.Body}
	if err := e.judge(r); err != nil {
		return Response{}, err
	}
	bounded, cancel := context.WithTimeout(ctx, RequestTime)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	e.stop = cancel
	e.ctx = httptrace.WithClientTrace(context.WithValue(bounded, callKey{}, bounded), &httptrace.ClientTrace{
		GotConn: e.gotConn, PutIdleConn: e.putIdleConn, Got1xxResponse: e.gotInterim,
	})
	defer e.forget()
	for hop := 0; ; hop++ {
		response, next, err := e.hop(hop)
		if err != nil {
			return Response{}, err
		}
		if next == nil {
			return response, nil
		}
		e.to = *next
	}
}

// judge holds the request against the policy, whole.
func (e *exchange) judge(r *Request) (err *Error) {
	if e.to, err = e.policy.judge(r.URL); err != nil {
		return err
	}
	if err = e.judgeMethod(); err != nil {
		return err
	}
	switch bodiless := e.method == http.MethodGet || e.method == http.MethodHead; {
	case len(e.body) > maxRequestBody:
		return errorf(Invalid, "body: it has %d bytes; the most is %d", len(e.body), maxRequestBody)
	case bodiless && len(e.body) > 0:
		// It means nothing to HTTP, and some servers read it as the next request.
		return errorf(Invalid, "body: a %s has none; leave it out, or use a method that has one", e.method)
	}
	if e.header, err = e.policy.judgeHeaders(r.Headers); err != nil {
		return err
	}
	// A range of what is compressed could not be decompressed.
	e.asked = e.header["Accept-Encoding"] == nil && e.header["Range"] == nil && e.method != http.MethodHead
	if e.asked {
		e.header["Accept-Encoding"] = []string{"gzip"}
	}
	return e.judgeCredentials()
}

func (e *exchange) judgeMethod() *Error {
	if !slices.Contains(e.policy.Methods, e.method) || !slices.Contains(methods, e.method) {
		return errorf(NotAllowed, "method: %s is not one of those that were approved; name it in methods of [net], in capitals", quote(e.method))
	}
	return nil
}

// judgeCredentials looks at what the policy makes of this host. A range of a response
// could show a secret in pieces, of which none is the secret.
func (e *exchange) judgeCredentials() *Error {
	for i, c := range e.policy.Secrets {
		if c.Host != e.to.host {
			continue
		}
		if !isToken(c.Header) || reserved(c.Header) != "" || strings.Count(c.Format, placeholder) != 1 || oddValue(c.Format) != "" {
			return errorf(Invalid, "secret: the header or the format of %s cannot be sent; mend its [[net.secret]]", c.Env)
		}
		for _, other := range e.policy.Secrets[:i] {
			if other.Host == c.Host && strings.EqualFold(other.Header, c.Header) {
				return errorf(Invalid, "secret: %s and %s are for one header; send one of them", other.Env, c.Env)
			}
		}
		for _, name := range []string{"Range", "If-Range"} {
			if e.header[name] != nil {
				return errorf(NotAllowed, "headers: %s may not be set where the secret %s is sent: a part of a response cannot be searched for it; ask for the whole", quote(name), c.Env)
			}
		}
	}
	return nil
}

// hop sends one request. It returns a response, or the target of a redirect.
func (e *exchange) hop(hop int) (Response, *target, *Error) {
	if e.ctx.Err() != nil {
		return Response{}, nil, e.failed(e.ctx.Err())
	}
	if e.policy.Spend != nil { // before a secret is read: a command may stand behind it
		if err := e.policy.Spend(); err != nil {
			return Response{}, nil, &Error{Kind: Ceiling, Msg: err.Error()}
		}
	}
	request, err := e.request()
	if err != nil {
		return Response{}, nil, err
	}
	if e.ctx.Err() != nil {
		return Response{}, nil, e.failed(e.ctx.Err())
	}
	e.conn = nil
	e.interim.Store(0)
	e.tries.Store(0)
	got, wire := e.client.transport.RoundTrip(request)
	if wire != nil {
		return Response{}, nil, e.failed(wire)
	}
	// Closed before its end it takes the connection, or the stream, with it.
	defer got.Body.Close()
	if e.conn != nil && got.ContentLength > 0 && e.method != http.MethodHead {
		e.conn.body.Store(got.ContentLength)
	}
	if err := e.searchHead(got); err != nil {
		return Response{}, nil, err
	}
	if location := got.Header["Location"]; isRedirect(got.StatusCode) && len(location) > 0 {
		next, err := e.redirect(hop, got.StatusCode, location)
		if err != nil {
			return Response{}, nil, err
		}
		_, _ = io.CopyN(io.Discard, got.Body, maxDrain)
		return Response{}, &next, nil
	}
	response, err := e.read(got)
	return response, nil, err
}

// request is what leaves: what was judged, and the secrets of the host.
func (e *exchange) request() (*http.Request, *Error) {
	for _, c := range e.policy.Secrets {
		if c.Host != e.to.host {
			continue
		}
		secret, err := e.secret(c.Env)
		if err != nil {
			return nil, err
		}
		e.header[http.CanonicalHeaderKey(c.Header)] = []string{secret.in(c.Format)}
		e.sent = append(e.sent, newReflection(c.Env, secret))
	}
	request := &http.Request{
		Method: e.method, URL: e.to.url(), Host: e.to.host, Header: e.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if len(e.body) > 0 {
		request.ContentLength = int64(len(e.body))
		request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(e.body)), nil }
		request.Body, _ = request.GetBody()
	}
	return request.WithContext(e.ctx), nil
}

// secret reads one, or says which is unset.
func (e *exchange) secret(env string) (Secret, *Error) {
	if e.client.secret == nil {
		return Secret{}, unset(env)
	}
	secret, err := e.client.secret(e.ctx, env)
	switch {
	case e.ctx.Err() != nil:
		return Secret{}, e.failed(e.ctx.Err())
	case err != nil:
		msg := err.Error()
		if own, ok := errors.AsType[*Error](err); ok {
			msg = own.Msg
		}
		if !strings.Contains(msg, env) {
			msg = env + ": " + msg
		}
		return Secret{}, &Error{Kind: NoSecret, Msg: msg}
	case secret.unset():
		return Secret{}, unset(env)
	}
	return secret, nil
}

func unset(env string) *Error {
	return errorf(NoSecret, "secret: %s is unset; set the variable where the host runs, or name a source for it in [secrets] of config.toml", env)
}

// failed is a failure on the way, or what ended it.
func (e *exchange) failed(err error) *Error {
	switch {
	case e.began.Err() == nil && e.client.life.Err() != nil:
		return errClosed
	case e.tries.Load() > maxTries:
		return errorf(Failed, "%s: it took the request and asked for it again, %d times", e.to.host, maxTries)
	case e.ctx.Err() != nil:
		return over(e.began, e.to.host)
	case e.interim.Load() > maxInterim:
		return errorf(Failed, "%s: it sent more than %d interim responses", e.to.host, maxInterim)
	case isHeadTooLarge(err.Error()):
		return errorf(Ceiling, "%s: the headers of its response have more than %d bytes", e.to.host, maxHead)
	}
	return wireError(e.to.host, err)
}

// forget wipes what was made to search for secrets.
func (e *exchange) forget() {
	for _, r := range e.sent {
		r.wipe()
	}
}

// gotConn is called each time the request is given a connection: net/http tries
// another where one that was kept turns out to be dead.
func (e *exchange) gotConn(info httptrace.GotConnInfo) {
	if e.tries.Add(1) > maxTries {
		e.stop()
		return
	}
	if e.conn, _ = info.Conn.(*conn1); e.conn != nil {
		e.turn = e.conn.begin()
	}
}

// putIdleConn is called when the response was read whole.
func (e *exchange) putIdleConn(err error) {
	if err == nil && e.conn != nil {
		e.conn.finish(e.turn)
	}
}

func (e *exchange) gotInterim(int, textproto.MIMEHeader) error {
	if e.interim.Add(1) > maxInterim {
		return errors.New("too many interim responses")
	}
	return nil
}
