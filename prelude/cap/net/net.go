// Package net asks the host to make web requests.
//
// The satellite has no network of its own. The host makes the request, if the
// manifest names the host and the method and the operator granted it, and adds the
// secrets the manifest names; a secret is never seen here. What the host refuses is
// an [Error] with the host's code.
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
// error.
type Response struct {
	Status  int
	Headers map[string]string
	Body    []byte
}

// Error is a request that was refused or got no response. It wraps a cap.Error.
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
