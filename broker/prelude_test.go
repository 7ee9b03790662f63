package broker

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/broker/artifact"
	"github.com/loomext/loomext/broker/workspace"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/ask"
	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/clock"
	"github.com/loomext/loomext/prelude/cap/fs"
	"github.com/loomext/loomext/prelude/cap/kv"
	capnet "github.com/loomext/loomext/prelude/cap/net"
	"github.com/loomext/loomext/prelude/cap/proc"
	"github.com/loomext/loomext/prelude/cap/rand"
	"github.com/loomext/loomext/prelude/cap/report"
)

// author is the context of an invocation whose calls the broker serves: the prelude's own packages over its encoding.
func author(t *testing.T, i *Invocation) context.Context {
	t.Helper()
	host := captest.New(t)
	for name := range routes {
		host.Handle(name, func(call captest.Call) (captest.Value, error) {
			r := i.Serve(call.Context, call.Cap, call.Args)
			if !r.OK {
				return captest.Value{}, &cap.Error{Code: r.Fault.Code, Msg: r.Fault.Msg}
			}
			return r.Value, nil
		})
	}
	return host.Context()
}

func TestThePreludeSpeaksToTheBroker(t *testing.T) {
	c, _ := origin(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Method", r.Method)
		io.Copy(w, r.Body)
	})
	store := artifact.Open(t.TempDir())
	terms := terms(manifest.Net{})
	terms.Requested, terms.Granted = everything, everything
	ctx := author(t, newBroker(t, Options{Config: c, Artifacts: store}).Open(terms, "s").Begin(nil, answering))

	response, err := capnet.Do(ctx, capnet.Request{Method: "POST", URL: "https://" + host + "/", Body: []byte("hello")})
	if err != nil || response.Status != 200 || string(response.Body) != "hello" || response.Headers["X-Method"] != "POST" {
		t.Errorf("net: %+v, %v", response, err)
	}
	if err := kv.Set(ctx, "k", []byte("v")); err != nil {
		t.Error(err)
	}
	if v, found, err := kv.Get(ctx, "k"); string(v) != "v" || !found || err != nil {
		t.Errorf("kv: %q, %v, %v", v, found, err)
	}
	if err := kv.Delete(ctx, "k"); err != nil {
		t.Error(err)
	}
	if v, found, err := kv.Get(ctx, "k"); v != nil || found || err != nil {
		t.Errorf("kv: %q, %v, %v", v, found, err)
	}
	if now, err := clock.Now(ctx); err != nil || time.Since(now).Abs() > time.Minute {
		t.Errorf("clock: %v, %v", now, err)
	}
	responses, err := ask.All(ctx,
		ask.Question{Key: "q", Message: "?"}, ask.Prompt{Key: "p", System: "s", Messages: []ask.Message{{Role: ask.RoleAssistant, Text: "t"}}, MaxTokens: 1}, ask.RootsRequest{Key: "r"},
	)
	if err != nil || responses[0].Reply.Action != ask.Accept || responses[1].Completion.Text != "said" || responses[2].Roots[0].URI != "file:///work" {
		t.Errorf("ask: %+v, %v", responses, err)
	}
	if b, err := rand.Bytes(ctx, 16); err != nil || len(b) != 16 {
		t.Errorf("rand: %x, %v", b, err)
	}
	id, err := report.Emit(ctx, "notes.txt", "text/plain", []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	path, err := store.Path(id)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); string(data) != "kept" || err != nil {
		t.Errorf("report: %q, %v", data, err)
	}
}

// TestAuthorsBranchOnCodes provokes each code that a call of the prelude can meet.
func TestAuthorsBranchOnCodes(t *testing.T) {
	c, _ := origin(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			w.Write(make([]byte, 5000))
		case "/hangup":
			panic(http.ErrAbortHandler)
		case "/slow":
			<-r.Context().Done()
		}
	})
	b := newBroker(t, Options{Config: c})
	s := func(t Terms) *Invocation { return b.Open(t, "s").Begin(nil, nil) }
	all := terms(manifest.Net{MaxResponseBytes: 4096})
	all.Requested, all.Granted = everything, everything
	offline := all
	offline.Net = nil
	working := all
	var dir string
	working.Workspace, dir = inWorkspace(t)
	working.Proc = commands(t, []string{"absent"})
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	over := s(all)
	over.End()

	fetch := func(path string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := capnet.Fetch(ctx, "https://"+host+path)
			return err
		}
	}
	reading := func(path string) func(context.Context) error {
		return func(ctx context.Context) error { _, err := fs.Read(ctx, path); return err }
	}
	run := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := proc.Run(ctx, proc.Command{Argv: []string{name}})
			return err
		}
	}
	set := func(key string, size int) func(context.Context) error {
		return func(ctx context.Context) error { return kv.Set(ctx, key, make([]byte, size)) }
	}
	deadlined := func(call func(context.Context) error, end func(context.Context) (context.Context, context.CancelFunc)) func(context.Context) error {
		return func(ctx context.Context) error {
			ctx, cancel := end(ctx)
			defer cancel()
			return call(ctx)
		}
	}
	met := map[string]bool{}
	for name, c := range map[string]struct {
		by   *Invocation
		call func(context.Context) error
		code string
	}{
		"after the answer":      {over, set("k", 1), cap.CodeUnauthorized},
		"not granted":           {s(Terms{Extension: "e", Requested: everything}), set("k", 1), cap.CodeDenied},
		"no workspace":          {s(all), reading("file"), cap.CodeDenied},
		"no file":               {s(working), reading("missing"), cap.CodeNotFound},
		"a directory":           {s(working), reading("."), cap.CodeWrongKind},
		"a path that cannot be": {s(working), reading("../file"), cap.CodeInvalidArgument},
		"a protected file":      {s(working), func(ctx context.Context) error { return fs.Write(ctx, ".git/config", "") }, cap.CodePermissionDenied},
		"another text": {s(working), func(ctx context.Context) error {
			return fs.Edit(ctx, "file", []fs.Replacement{{Find: "other", ReplaceWith: "y"}})
		}, cap.CodeStaleContent},
		"a large file": {s(working), func(ctx context.Context) error {
			return fs.Write(ctx, "file", strings.Repeat("x", workspace.MaxFile+1))
		}, cap.CodeTooLarge},
		"a command that is not named":  {s(working), run("other"), cap.CodeNotAllowed},
		"a command that is not there":  {s(working), run("absent"), cap.CodeNotFound},
		"commands without a workspace": {s(all), run("absent"), cap.CodeDenied},
		"an artifact without a store": {s(all), func(ctx context.Context) error {
			_, err := report.Emit(ctx, "a", "text/plain", nil)
			return err
		}, cap.CodeUnavailable},
		"a question to nobody": {s(all), func(ctx context.Context) error { _, err := ask.Roots(ctx, "r"); return err }, cap.CodeUnavailable},
		"an empty key":         {s(all), set("", 1), cap.CodeInvalidArgument},
		"a long value":         {s(all), set("k", maxValue+1), cap.CodeTooLarge},
		"more than fits":       {s(all), set("k", wire.MaxFrame), cap.CodeTooLarge},
		"a full scratch": {s(all), func(ctx context.Context) error {
			for n := range maxKeys + 1 {
				if err := kv.Set(ctx, strconv.Itoa(n), nil); err != nil {
					return err
				}
			}
			return nil
		}, cap.CodePolicy},
		"no terms":        {s(offline), fetch("/"), cap.CodeNetworkOff},
		"another host":    {s(all), func(ctx context.Context) error { _, err := capnet.Fetch(ctx, "https://example.org/"); return err }, cap.CodeNotAllowed},
		"a large answer":  {s(all), fetch("/large"), cap.CodePolicy},
		"a server is ill": {s(all), fetch("/hangup"), cap.CodeNetFailed},
		"no time": {s(all), deadlined(fetch("/slow"), func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 20*time.Millisecond)
		}), cap.CodeDeadline},
		"called off": {s(all), deadlined(fetch("/slow"), func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}), cap.CodeCancelled},
	} {
		err := c.call(author(t, c.by))
		if got := cap.CodeOf(err); got != c.code {
			t.Errorf("%s: %v; want %s", name, err, c.code)
		}
		met[c.code] = true
	}
	for _, code := range minted(t) {
		if !met[code] && code != cap.CodeUnknownCapability {
			t.Errorf("nothing here meets %s", code)
		}
	}
}
