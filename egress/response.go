package egress

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strings"
)

// firstRead is what is made room for before a body arrives, in bytes: its length is
// the origin's word.
const firstRead = 64 << 10

// compressedMost is the size of a compressed body that may be a permitted one: what
// cannot be compressed grows a little.
func compressedMost(bound int64) int64 { return bound + bound>>8 + 1<<10 }

var errTooLarge = errors.New("past the bound")

// read takes the body, searches it, and makes the response.
func (e *exchange) read(got *http.Response) (Response, *Error) {
	if got.StatusCode < 200 {
		return Response{}, errorf(Failed, "%s: it answered with status %d, which ends no request", e.to.host, got.StatusCode)
	}
	codings := codings(got.Header)
	ours := e.asked && len(codings) == 1 && codings[0] == "gzip"
	bound := e.policy.MaxResponseBytes
	most := bound
	if ours {
		most = compressedMost(bound)
	}
	body, err := e.readBody(got, most)
	if err != nil {
		return Response{}, err
	}
	if ours && len(body) > 0 {
		if err := e.search("body", body); err != nil {
			return Response{}, err
		}
		if body, err = e.decompress(codings[0], body); err != nil {
			return Response{}, err
		}
		delete(got.Header, "Content-Encoding")
		delete(got.Header, "Content-Length")
	}
	if err := e.search("body", body); err != nil {
		return Response{}, err
	}
	if !ours && len(e.sent) > 0 {
		if err := e.lookInto(codings, body); err != nil {
			return Response{}, err
		}
	}
	return Response{Status: got.StatusCode, Headers: headers(got.Header), Body: body}, nil
}

// codings are what a body was encoded with, in order.
func codings(h http.Header) []string {
	var list []string
	for _, value := range h["Content-Encoding"] {
		for coding := range strings.SplitSeq(strings.ToLower(value), ",") {
			switch coding = strings.TrimSpace(coding); coding {
			case "", "identity":
			case "x-gzip":
				list = append(list, "gzip")
			default:
				list = append(list, coding)
			}
		}
	}
	return list
}

func (e *exchange) readBody(got *http.Response, most int64) ([]byte, *Error) {
	if got.ContentLength > most && e.method != http.MethodHead {
		return nil, e.tooLarge()
	}
	body, err := readAtMost(got.Body, most, max(512, min(got.ContentLength+1, firstRead)))
	switch {
	case errors.Is(err, errTooLarge):
		return nil, e.tooLarge()
	case err != nil:
		return nil, e.failed(err)
	}
	return body, nil
}

func (e *exchange) tooLarge() *Error {
	return errorf(Ceiling, "%s: the body of its response has more than %d bytes; ask for less, or raise max_response_bytes of [net]", e.to.host, e.policy.MaxResponseBytes)
}

// readAtMost reads to the end, and fails as soon as there is more than a bound.
func readAtMost(from io.Reader, most, room int64) ([]byte, error) {
	into := make([]byte, 0, room)
	for {
		if len(into) == cap(into) {
			into = append(into, 0)[:len(into)]
		}
		n, err := from.Read(into[len(into):min(int64(cap(into)), max(most+1, int64(len(into))+1))])
		into = into[:len(into)+n]
		if int64(len(into)) > most {
			return nil, errTooLarge
		}
		if err == io.EOF {
			return into, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// decompress takes one coding off, within the policy's bound. The compressed body is
// whole and bounded, so an endless stream that says nothing has ended before.
func (e *exchange) decompress(coding string, body []byte) ([]byte, *Error) {
	from, err := decompressor(coding, body)
	if err == nil {
		body, err = readAtMost(stopped{from, e}, e.policy.MaxResponseBytes, min(4*int64(len(body))+512, firstRead))
	}
	switch {
	case errors.Is(err, errTooLarge):
		return nil, e.tooLarge()
	case e.ctx.Err() != nil:
		return nil, e.failed(e.ctx.Err())
	case err != nil:
		return nil, errorf(Failed, "%s: the body of its response is not the %s it says", e.to.host, quote(coding))
	}
	return body, nil
}

// stopped ends with the call.
type stopped struct {
	io.Reader
	e *exchange
}

func (s stopped) Read(p []byte) (int, error) {
	if err := s.e.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}

func decompressor(coding string, body []byte) (io.Reader, error) {
	switch coding {
	case "gzip":
		return gzip.NewReader(bytes.NewReader(body))
	case "deflate": // zlib, or without its wrapping: servers do both
		if from, err := zlib.NewReader(bytes.NewReader(body)); err == nil {
			return from, nil
		}
		return flate.NewReader(bufio.NewReader(bytes.NewReader(body))), nil
	}
	return nil, errors.ErrUnsupported
}

// lookInto searches a body that is handed over encoded, because the requester asked
// for that or the origin did so unasked. What cannot be looked into could hide a secret
// that was sent.
func (e *exchange) lookInto(codings []string, body []byte) *Error {
	for i := len(codings) - 1; i >= 0 && len(body) > 0; i-- {
		if codings[i] != "gzip" && codings[i] != "deflate" || len(codings) > maxLayers {
			return errorf(Leaked, "%s: the body of its response is encoded so that it cannot be searched for the secret %s; leave Accept-Encoding out, or ask for gzip", e.to.host, e.sent[0].env)
		}
		var err *Error
		if body, err = e.decompress(codings[i], body); err != nil {
			return err
		}
		if err := e.search("body", body); err != nil {
			return err
		}
	}
	return nil
}

// searchHead looks for secrets in the status line and the headers, those that are left
// out later included.
func (e *exchange) searchHead(got *http.Response) *Error {
	if len(e.sent) == 0 {
		return nil
	}
	if err := e.search("head", []byte(got.Status)); err != nil {
		return err
	}
	for name, values := range got.Header {
		for _, r := range e.sent {
			if r.folded(e.ctx, name) { // net/http has changed its case
				return e.leaked("head", r.env)
			}
		}
		for _, value := range values {
			if err := e.search("head", []byte(value)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *exchange) leaked(part, env string) *Error {
	return errorf(Leaked, "%s: the %s of its response carries the secret %s back, so it is not handed over; ask for what does not repeat it", e.to.host, part, env)
}

func (e *exchange) search(part string, text []byte) *Error {
	for _, r := range e.sent {
		if r.in(e.ctx, text) {
			return e.leaked(part, r.env)
		}
	}
	if err := e.ctx.Err(); err != nil {
		return e.failed(err)
	}
	return nil
}

// headers are those of a response that mean something to a requester. Values of
// Set-Cookie cannot be joined, and a client that keeps no cookies has no use for them.
func headers(h http.Header) map[string]string {
	kept := make(map[string]string, len(h))
	for name, values := range h {
		switch name {
		case "Set-Cookie", "Set-Cookie2", "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
			continue
		}
		kept[strings.ToValidUTF8(name, "\uFFFD")] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
	}
	return kept
}
