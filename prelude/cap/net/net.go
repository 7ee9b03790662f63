// Package net asks the host to make web requests. It is the capability net, with the
// [net] table of the manifest.
//
// The satellite has no network of its own. The host makes the request, if the
// manifest names the host and the method and the operator granted it, and adds the
// secrets the manifest names; a secret is never seen here.
//
// A URL is https, and its host a name that the manifest lists, letter for letter, on
// port 443. It has no user, no fragment and no address in place of the host, and is
// percent-encoded. Headers are ASCII, at most 64 and 32 KiB, and a body has at most
// 8 MiB. A request takes at most 15 seconds, and what is left of the invocation. A
// response has at most max_response_bytes, and never more than the host's ceiling or
// than one frame carries, 15 MiB; it is counted as it arrives and once decompressed. At
// most two redirects are followed, within one origin. An invocation makes at most
// requests_per_call requests, each redirect counted.
//
// What the host refuses is an [Error], with the codes that any capability has, and
//
//   - invalid_argument for a URL or a header that is malformed,
//   - not_allowed for what never goes out: a host or a method that the manifest does not
//     name, another scheme or port, a header that is the host's own, a private address,
//   - network_off where the extension was approved without a [net] table,
//   - policy for a ceiling: the size of the response, the number of requests,
//   - unavailable for a secret that is not set where the host runs,
//   - denied also for a response that would have carried a secret back,
//   - net_failed for what was allowed and failed on its way: a name that does not resolve, a
//     refused connection, a certificate, a server that hung up. This one alone may be
//     worth another try.
//
// Package cap has the codes as constants.
package net

import (
	"context"
	"strconv"

	"github.com/loomext/loomext/prelude/cap/internal/channel"
	"github.com/loomext/loomext/prelude/cap/report"
)

const capRequest = "net.request"

// Request is one web request. An empty Method means GET.
type Request struct {
	Method, URL string
	Headers     map[string]string
	Body        []byte
}

// Response is what the server said. A status of 404 or 500 is a response, not an
// error. Body is decompressed.
type Response struct {
	Status  int
	Headers map[string]string
	Body    []byte
}

// Error is a request that was refused or got no response. It wraps a *cap.Error, whose
// code cap.CodeOf tells.
type Error struct {
	Method, URL string
	Err         error
}

// Error names the request and the cause.
func (e *Error) Error() string {
	return "net: " + e.Method + " " + strconv.Quote(e.URL) + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Fetch gets a URL.
func Fetch(ctx context.Context, url string) (Response, error) {
	return Do(ctx, Request{URL: url})
}

// Do makes a request and waits for the response.
func Do(ctx context.Context, r Request) (Response, error) {
	if r.Method == "" {
		r.Method = "GET"
	}
	v, err := channel.Call(ctx, capRequest, report.Map(
		report.Field{Key: "method", Value: report.String(r.Method)},
		report.Field{Key: "url", Value: report.String(r.URL)},
		report.Field{Key: "headers", Value: report.Strings(r.Headers)},
		report.Field{Key: "body", Value: report.Bytes(r.Body)},
	))
	if err != nil {
		return Response{}, &Error{Method: r.Method, URL: r.URL, Err: err}
	}
	response, err := read(v)
	if err != nil {
		return Response{}, &Error{Method: r.Method, URL: r.URL, Err: channel.Misshapen(capRequest, err)}
	}
	return response, nil
}

func read(v report.Value) (Response, error) {
	status, err := report.IntAt(v, "status")
	if err != nil {
		return Response{}, err
	}
	headers, err := report.StringsAt(v, "headers")
	if err != nil {
		return Response{}, err
	}
	body, err := report.BytesAt(v, "body")
	if err != nil {
		return Response{}, err
	}
	return Response{Status: int(status), Headers: headers, Body: body}, nil
}
