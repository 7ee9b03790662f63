package replay_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/record"
	"github.com/loomext/loomext/replay"
	"github.com/loomext/loomext/vet"
)

// home has the probe installed, and home2 another version of it. No test writes to them.
var home, home2 string

func TestMain(m *testing.M) {
	jail.Main()
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "loomext-replay-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer livetest.RemoveAll(dir)
	home, home2 = filepath.Join(dir, "home"), filepath.Join(dir, "home2")
	if err := installAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if code = m.Run(); code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// changes are what the other version does otherwise, old and new by turns.
var changes = []string{
	`return ext.Text(r.Text), nil`, `return ext.Text("changed " + r.Text), nil`,
	`return "", kv.Set(ctx, r.Key, []byte(r.Text))`, `return "", kv.Set(ctx, "other " + r.Key, []byte(r.Text))`,
	`value, found, err := kv.Get(ctx, r.Key)`, `_, _, _ = kv.Get(ctx, "more"); value, found, err := kv.Get(ctx, r.Key)`,
	`at, err := clock.Now(ctx)`, `at, err := time.Unix(0, 0).UTC(), error(nil); _ = clock.Now`,
	`ext.Refuse("%s", r.Text)`, `ext.Refuse("no: %s", r.Text)`,
}

func installAll(dir string) error {
	other := filepath.Join(dir, "other")
	if err := os.CopyFS(other, os.DirFS("testdata/probe")); err != nil {
		return err
	}
	for file, words := range map[string][]string{
		"tool/tool.go": changes, "schema/do.json": {`"n": {"type": "integer"}`, `"n": {"type": "integer", "minimum": 0}`},
		"extension.toml": {`version = "1.0.0"`, `version = "2.0.0"`},
	} {
		path := filepath.Join(other, file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i := 0; i < len(words); i += 2 {
			if !strings.Contains(string(text), words[i]) {
				return fmt.Errorf("%s has no %q", file, words[i])
			}
		}
		if err := os.WriteFile(path, []byte(strings.NewReplacer(words...).Replace(string(text))), 0o600); err != nil {
			return err
		}
	}
	for source, at := range map[string]string{"testdata/probe": home, other: home2} {
		_, err := install.Open(at).Install(context.Background(), install.Options{
			Source: source, Builder: &build.Builder{Cache: filepath.Join(dir, "cache"), Std: vet.Std()},
			Preset: &install.Decision{All: true, How: "test"},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// recording is a session with a record.
type recording struct {
	t       *testing.T
	path    string
	session *host.Session
	end     func()
}

// recorded opens one on the probe. Its end closes both.
func recorded(t *testing.T, path string, c config.Config, o host.SessionOptions) recording {
	t.Helper()
	h, err := host.New(host.Options{Home: home, Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	if o.Record, err = record.Open(path); err != nil {
		t.Fatal(err)
	}
	s, err := h.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return recording{t, path, s, func() {
		h.Close()
		if err := o.Record.Close(); err != nil {
			t.Error(err)
		}
	}}
}

// call is one of the probe's tool, with what follows as its arguments, key and value by turns.
func call(op string, rest ...any) host.Call {
	args := map[string]any{"op": op}
	for i := 0; i < len(rest); i += 2 {
		args[rest[i].(string)] = rest[i+1]
	}
	text, _ := json.Marshal(args)
	return host.Call{Extension: "probe", Tool: "do", Args: text}
}

// do makes a call, whatever comes of it.
func (r recording) do(op string, rest ...any) (string, error) {
	outcome, err := r.session.Call(r.t.Context(), call(op, rest...))
	if err != nil {
		return "", err
	}
	return string(outcome.Content[0].Body), nil
}

// of records the calls of one session.
func of(t *testing.T, calls ...host.Call) string {
	t.Helper()
	r := recorded(t, filepath.Join(t.TempDir(), "audit.jsonl"), config.Default(), host.SessionOptions{})
	defer r.end()
	for _, c := range calls {
		_, _ = r.session.Call(t.Context(), c)
	}
	return r.path
}

// from loads the probe of a home.
func from(t *testing.T, home string) func(string) (*install.Installed, error) {
	t.Helper()
	return func(name string) (*install.Installed, error) {
		installed, err := install.Open(home).LoadImage(t.Context(), name)
		if err == nil {
			t.Cleanup(func() { _ = installed.Close() })
		}
		return installed, err
	}
}

// played replays a record, and wants no process to be left of it.
func played(t *testing.T, path string, o replay.Options) ([]replay.Result, replay.Summary) {
	t.Helper()
	results, summary, err := play(t, t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return results, summary
}

func play(t *testing.T, ctx context.Context, path string, o replay.Options) ([]replay.Result, replay.Summary, error) {
	t.Helper()
	r, err := record.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if o.Against == nil {
		o.Against = from(t, home)
	}
	var results []replay.Result
	summary, err := replay.New(o).Run(ctx, r, func(result replay.Result) error {
		results = append(results, result)
		return nil
	})
	if n := children(t); n > 0 {
		t.Errorf("%d processes are left", n)
	}
	return results, summary, err
}

// same wants a replay without a difference and nothing left out.
func same(t *testing.T, results []replay.Result) {
	t.Helper()
	for _, r := range results {
		if !r.Same() {
			t.Errorf("%s: %s", r.Entry.Args.JSON(), describe(r))
		}
	}
}

// describe is what is different, on a line.
func describe(r replay.Result) string {
	text := r.Skipped
	if r.AnswerChanged {
		text += fmt.Sprintf("answer: %s %v / %s %v", record.Whole(r.Was.Value), r.Was.Fault, record.Whole(r.Now.Value), r.Now.Fault)
	}
	for _, e := range r.Effects {
		text += fmt.Sprintf("; %s %s", e.Change, e.Cap)
		if e.Was != nil {
			text += " was " + string(record.Whole(*e.Was))
		}
		if e.Now != nil {
			text += " now " + string(record.Whole(*e.Now))
		}
	}
	return text
}

// origin is a server in the place of the one that the probe may reach.
func origin(t *testing.T, handler http.HandlerFunc) config.Config {
	t.Helper()
	const name = "example.com"
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	c := config.Default()
	c.Egress.Roots = []*x509.Certificate{server.Certificate()}
	c.Egress.Private = []string{name}
	c.Egress.Resolve = []config.Route{{Host: name, Port: 443, Address: netip.MustParseAddrPort(server.Listener.Addr().String())}}
	return c
}

// broken wants an error of a kind.
func broken(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}

// children is how many processes of this one there are.
func children(t *testing.T) (n int) {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(tasks) == 0 {
		t.Skip("skipped layer: processes: /proc does not list children here")
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		n += len(strings.Fields(string(text)))
	}
	return n
}
