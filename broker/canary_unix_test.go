//go:build unix

package broker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/loomext/loomext/broker/artifact"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/manifest"
)

// TestASecretIsNeverSeen sends secrets from every source to an origin that gives back what it gets, in every way a
// refusal and a success can come about, and looks for the value in every frame, message and line of the log.
func TestASecretIsNeverSeen(t *testing.T) {
	const value = canary + "/+?&=~x"
	var sent atomic.Int64
	c, _ := origin(t, func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Key")
		if strings.Contains(key, value) {
			sent.Add(1)
		}
		switch r.URL.Path {
		case "/raw":
			io.WriteString(w, key)
		case "/base64":
			io.WriteString(w, base64.StdEncoding.EncodeToString([]byte(key)))
		case "/url":
			io.WriteString(w, url.QueryEscape(key))
		case "/header":
			w.Header().Set("X-Echo", key)
		case "/location":
			w.Header().Set("Location", "https://elsewhere.example.com/?k="+url.QueryEscape(key))
			w.WriteHeader(http.StatusFound)
		case "/redirect":
			http.Redirect(w, r, "/raw", http.StatusFound)
		case "/large":
			io.WriteString(w, strings.Repeat(key, 1<<10))
		case "/hangup":
			panic(http.ErrAbortHandler)
		default:
			io.WriteString(w, "fine")
		}
	})
	t.Setenv("LOOMEXT_TEST_ENV", value)
	t.Setenv("LOOMEXT_TEST_BROKEN", value+"\nX-Other: 1")
	c.Secrets = map[string]config.SecretSource{
		"LOOMEXT_TEST_FILE":    {File: write(t, value+"\n")},
		"LOOMEXT_TEST_COMMAND": {Command: []string{"echo", value}},
		"LOOMEXT_TEST_FAILS":   {Command: []string{"sh", "-c", "echo $0; echo $0 >&2; exit 1", value}},
		"LOOMEXT_TEST_TWO":     {File: write(t, value+"\n"+value+"\n")},
	}
	var log bytes.Buffer
	handler := slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug - 8})
	b := newBroker(t, Options{Config: c, Logger: slog.New(handler), Artifacts: artifact.Open(t.TempDir())})

	seen := func(where, text string) {
		t.Helper()
		for name, form := range map[string]string{
			"raw": value, "canary": canary, "hex": hex.EncodeToString([]byte(canary)), "url": url.QueryEscape(value), "path": url.PathEscape(value),
			"base64": base64.StdEncoding.EncodeToString([]byte(value)), "inside base64": base64.StdEncoding.EncodeToString([]byte(canary))[:12],
		} {
			if strings.Contains(text, form) {
				t.Errorf("%s has the secret (%s): %.200q", where, name, text)
			}
		}
	}
	paths := []string{"/", "/raw", "/base64", "/url", "/header", "/location", "/redirect", "/large", "/hangup"}
	for _, env := range []string{"LOOMEXT_TEST_ENV", "LOOMEXT_TEST_BROKEN", "LOOMEXT_TEST_FILE", "LOOMEXT_TEST_COMMAND", "LOOMEXT_TEST_FAILS", "LOOMEXT_TEST_TWO"} {
		scope := b.Open(terms(manifest.Net{
			MaxResponseBytes: 4 << 10, RequestsPerCall: 100,
			Secrets: []manifest.Secret{{Env: env, Host: host, Header: "X-Key", Format: "Bearer {}"}},
		}), "s")
		i := scope.Begin(nil, nil)
		for _, path := range paths {
			r := fetch(i, path)
			if works := env == "LOOMEXT_TEST_ENV" || env == "LOOMEXT_TEST_FILE" || env == "LOOMEXT_TEST_COMMAND"; r.OK != (works && path == "/") {
				t.Errorf("%s %s: %v %v", env, path, r.OK, r.Fault)
			}
			frame, err := wire.AppendResult(nil, wire.KindCapResult, 1, r)
			if err != nil {
				t.Fatal(err)
			}
			seen(env+path, string(frame))
		}
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		seen(env+" cancelled", fmt.Sprintf("%v", i.Serve(cancelled, "net.request", request("GET", "/"))))
		seen(env+" scope", fmt.Sprintf("%+v %#v", scope.terms, scope.network.policy))
	}
	if sent.Load() == 0 {
		t.Error("no secret ever arrived")
	}
	for name := range maps.Keys(routes) {
		seen(name, fmt.Sprintf("%+v", serve(b.Open(terms(manifest.Net{}), "s").Begin(nil, nil), name)))
	}
	seen("the log", log.String())
}
