package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	// statelessSince is the first revision without sessions. Revisions are dates, and
	// so are compared as text; what is no date at all sorts behind them and is left
	// to the stateless side to refuse in the protocol's own words.
	statelessSince = "2026-07-28"
	// versionKey is what a request of the stateless side says in its own _meta.
	versionKey = "io.modelcontextprotocol/protocolVersion"
)

// route hands a request to the side of its revision: by the header, which every
// request after the first has, and else by what the body says of itself.
func (s *HTTP) route(w http.ResponseWriter, r *http.Request) {
	var body []byte
	if r.Method == http.MethodPost {
		var ok bool
		if body, ok = s.readBody(w, r); !ok {
			return
		}
	}
	id := r.Header.Get(sessionHeader)
	call, refusal := callOf(body)
	if refusal != "" {
		refuse(w, refusal)
		return
	}
	switch {
	case r.Header.Get(versionHeader) >= statelessSince:
		s.stateless.ServeHTTP(w, r)
	case id != "":
		s.serveSession(w, r, id, call)
	case r.Method != http.MethodPost:
		s.stateful.ServeHTTP(w, r) // which says what it lacks
	default:
		s.begin(w, r, body)
	}
}

// refuse answers a request with an error of JSON-RPC that is there already.
func refuse(w http.ResponseWriter, refusal string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, refusal)
}

// begin serves a request without a session and without the header: the first of a
// session, or one of the stateless side that lacks its header.
func (s *HTTP) begin(w http.ResponseWriter, r *http.Request, body []byte) {
	var first struct {
		Method string `json:"method"`
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	// What cannot be read has neither a method nor a version.
	_ = json.Unmarshal(body, &first)
	var version string
	_ = json.Unmarshal(first.Params.Meta[versionKey], &version) // what is no text is no version
	switch {
	case version != "":
		s.stateless.ServeHTTP(w, r)
	case first.Method == "initialize":
		s.serveFirst(w, r)
	default:
		http.Error(w, "Bad Request: there is no session; send initialize first and then its "+sessionHeader+
			", or a request of "+statelessSince+" with its "+versionHeader, http.StatusBadRequest)
	}
}

// readBody reads the body into memory, within its bounds. Whoever serves the
// request has it there; a client that is slow to send it holds up nobody else. Where it is
// false the request is answered.
func (s *HTTP) readBody(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.bounds.reading))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.bounds.body))
	if err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			http.Error(w, fmt.Sprintf("Request Entity Too Large: a request may have %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
		} else {
			w.Header().Set("Connection", "close")
			http.Error(w, "Request Timeout: the body did not arrive whole", http.StatusRequestTimeout)
		}
		return nil, false
	}
	_ = control.SetReadDeadline(time.Time{})
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, true
}
