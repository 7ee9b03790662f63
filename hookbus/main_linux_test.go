package hookbus_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vet"
)

// home has the probe of testdata installed under several names. alpha and beta have hooks
// for every event, gamma for all but tool_call, delta and epsilon for none.
var (
	home  string
	rogue string // the program of testdata/rogue, to stand in for an extension's own
)

var probes = map[string]func(event string) bool{
	"alpha":   func(string) bool { return true },
	"beta":    func(string) bool { return true },
	"gamma":   func(event string) bool { return event != "tool_call" },
	"delta":   func(string) bool { return false },
	"epsilon": func(string) bool { return false },
}

func TestMain(m *testing.M) {
	jail.Main()
	if home := os.Getenv(leaverVariable); home != "" {
		os.Exit(leave(home))
	}
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "loomext-hookbus-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer livetest.RemoveAll(dir)
	home, rogue = filepath.Join(dir, "home"), filepath.Join(dir, "rogue")
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

var hookTable = regexp.MustCompile(`(?m)^\[\[hook\]\]\nevent = "([a-z_]+)"\nentry = "hooks"\n`)

func installAll(dir string) error {
	command := exec.Command("go", "build", "-trimpath", "-o", rogue, "./testdata/rogue")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the rogue: %w\n%s", err, text)
	}
	for name, declares := range probes {
		source := filepath.Join(dir, name)
		if err := os.CopyFS(source, os.DirFS("testdata/probe")); err != nil {
			return err
		}
		for _, file := range []string{"extension.toml", "self/self.go", "hooks/hooks.go", "tool/tool.go"} {
			path := filepath.Join(source, file)
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			renamed := strings.NewReplacer(`name = "probe"`, `name = "`+name+`"`, `Me = "probe"`, `Me = "`+name+`"`, "extension.invalid/probe", "extension.invalid/"+name).Replace(string(text))
			renamed = hookTable.ReplaceAllStringFunc(renamed, func(table string) string {
				if declares(hookTable.FindStringSubmatch(table)[1]) {
					return table
				}
				return ""
			})
			if err := os.WriteFile(path, []byte(renamed), 0o600); err != nil {
				return err
			}
		}
		_, err := install.Open(home).Install(context.Background(), install.Options{
			Source: source, Builder: &build.Builder{Cache: filepath.Join(dir, "cache"), Std: vet.Std()},
			Preset: &install.Decision{All: true, How: "test"},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// open is a session on extensions by name that ends with the test.
func open(t testing.TB, c config.Config, extensions ...string) *host.Session {
	t.Helper()
	return openWith(t, c, host.SessionOptions{Extensions: extensions})
}

func openWith(t testing.TB, c config.Config, o host.SessionOptions) *host.Session {
	t.Helper()
	h, err := host.New(host.Options{Home: home, Config: &c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	s, err := h.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// on is a bus over the extensions of a session that is its own.
func on(t testing.TB, o hookbus.Options, extensions ...string) (*hookbus.Bus, *host.Session) {
	t.Helper()
	s := open(t, config.Config{}, extensions...)
	return over(t, s, o), s
}

func over(t testing.TB, s *host.Session, o hookbus.Options) *hookbus.Bus {
	t.Helper()
	b := hookbus.New(s, o)
	t.Cleanup(b.Close)
	return b
}

// impostor is the rogue under the record of an extension.
func impostor(t testing.TB, name string) *install.Installed {
	t.Helper()
	installed, err := install.Open(home).LoadImage(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(rogue)
	if err != nil {
		t.Fatal(err)
	}
	_ = installed.Image.Close()
	if installed.Image, err = jail.Seal(rogue, fmt.Sprintf("sha256:%x", sha256.Sum256(program))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = installed.Close() })
	return installed
}

// tool calls the tool of an extension.
func tool(t testing.TB, s *host.Session, name, op, text string) string {
	t.Helper()
	args, err := json.Marshal(map[string]string{"op": op, "text": text})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Call(t.Context(), host.Call{Extension: name, Tool: "do", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Content[0].Body)
}

// hold keeps an extension's tool running until the function that it gives is called.
func hold(t testing.TB, s *host.Session, name string) (release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	holding, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		_, err := s.Call(ctx, host.Call{Extension: name, Tool: "do", Args: json.RawMessage(`{"op": "hold"}`), Report: func(host.Report) { close(holding) }})
		if host.KindOf(err) != host.Cancelled {
			t.Error(err)
		}
	}()
	<-holding
	return func() {
		cancel()
		<-over
	}
}

// of is the status of one event at one extension.
func of(t testing.TB, b *hookbus.Bus, name, event string) hookbus.EventStatus {
	t.Helper()
	for _, x := range b.Status() {
		if x.Name != name {
			continue
		}
		for _, e := range x.Events {
			if e.Event == event {
				return e
			}
		}
	}
	t.Fatalf("%s does not declare %s", name, event)
	return hookbus.EventStatus{}
}

// counts holds what became of an event against what is expected: asked, answered,
// blocked, failed.
func counts(t testing.TB, b *hookbus.Bus, name, event string, want ...int) {
	t.Helper()
	s := of(t, b, name, event)
	if got := []int{s.Asked, s.Answered, s.Blocked, s.Failed}; !slices.Equal(got, want) {
		t.Errorf("%s of %s: asked, answered, blocked, failed are %v, want %v; last failure: %s", event, name, got, want, s.LastFailure)
	}
}

func state(t testing.TB, s *host.Session, name string) host.Status {
	t.Helper()
	for _, st := range s.Status() {
		if st.Name == name {
			return st
		}
	}
	t.Fatalf("the session has no %s", name)
	return host.Status{}
}

// flush waits until everything queued is delivered.
func flush(t testing.TB, b *hookbus.Bus) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := b.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// installed is a list of one.
func installed(x *install.Installed) []*install.Installed { return []*install.Installed{x} }

func raws(texts ...string) []json.RawMessage {
	all := make([]json.RawMessage, len(texts))
	for i, text := range texts {
		all[i] = json.RawMessage(text)
	}
	return all
}

// joined is messages as one text.
func joined(messages []json.RawMessage) string {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = string(m)
	}
	return strings.Join(texts, "|")
}
