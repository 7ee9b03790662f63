package mcp_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/internal/livetest"
)

func TestTwoExtensionsWithOneNameAreBothServedUnderBoth(t *testing.T) {
	s := open(t, mcp.Options{Except: []string{"twin__loose", "twin__letter"}})
	p := s.connect(t, stateless, sdk.ClientOptions{})
	want := []string{"desk__brief", "desk__do", "loose", "twin__brief", "twin__do"}
	if got := p.names(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := p.said("twin__do", args("echo", "text", "of twin")); got != "of twin" {
		t.Errorf("%q", got)
	}
	home, _ := deskHome()
	var records []install.Record
	for _, name := range []string{"desk", "twin"} {
		r, err := install.Open(home).Record(name)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	var names []string
	total := 0
	for _, o := range mcp.Offer(records, nil, []string{"twin__loose", "twin__letter"}) {
		if o.Bytes < 100 || o.Extension == "" || !strings.HasSuffix(o.Name, o.Tool) {
			t.Errorf("%+v", o)
		}
		total += o.Bytes
		names = append(names, o.Name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	list, err := p.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(encoded(t, list.Tools)); got < total || got > total+total/10+10 {
		t.Errorf("the entries are said to have %d bytes, and have %d", total, got)
	}
	if !strings.Contains(s.log.String(), "desk://today") {
		t.Error("nothing is said of the resource that both have")
	}
}

func TestWhatIsServedCanBeChosen(t *testing.T) {
	for _, c := range []struct {
		only, except, want []string
	}{
		{[]string{"desk"}, nil, []string{"brief", "do", "loose"}},
		{[]string{"desk__do", "twin__brief"}, nil, []string{"brief", "do"}},
		{nil, []string{"twin"}, []string{"brief", "do", "loose"}},
		{[]string{"desk"}, []string{"desk__do"}, []string{"brief", "loose"}},
		{[]string{"absent"}, nil, nil},
	} {
		s := open(t, mcp.Options{Only: c.only, Except: c.except})
		if got := s.connect(t, stateless, sdk.ClientOptions{}).names(); !slices.Equal(got, c.want) {
			t.Errorf("only %v, except %v: %v, want %v", c.only, c.except, got, c.want)
		}
	}
	s := open(t, mcp.Options{})
	for _, name := range []string{"", "Desk", "desk__", "__do", "desk__do__it", "../desk", "desk do"} {
		if _, err := mcp.New(s.host, mcp.Options{Except: []string{name}}); err == nil {
			t.Errorf("%q is a name", name)
		}
	}
}

// listener hears of changes.
type listener struct {
	tools, prompts, resources heard[time.Time]
	updated                   heard[string]
}

func (l *listener) options() sdk.ClientOptions {
	return sdk.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { l.tools.add(time.Now()) },
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { l.prompts.add(time.Now()) },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { l.resources.add(time.Now()) },
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			l.updated.add(r.Params.URI)
		},
	}
}

// copied is a store of its own with desk installed.
func copied(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped layer: compile: -short")
	}
	home := filepath.Join(t.TempDir(), "home")
	t.Cleanup(func() { livetest.RemoveAll(home) })
	if err := installDesk(home, "desk"); err != nil {
		t.Fatal(err)
	}
	return home
}

func TestAnInstallAndARemovalElsewhereAreToldWithinASecond(t *testing.T) {
	home := copied(t)
	twin := filepath.Join(t.TempDir(), "twin")
	if err := os.CopyFS(twin, os.DirFS("testdata/desk")); err != nil {
		t.Fatal(err)
	}
	replace(t, filepath.Join(twin, "extension.toml"), `name = "desk"`, `name = "twin"`)
	replace(t, filepath.Join(twin, "extension.toml"), "desk://today", "twin://today") // the others are desk's
	s := openAt(t, home, mcp.Options{})
	var old, current listener
	legacy, modern := s.connect(t, handshake, old.options()), s.connect(t, stateless, current.options())
	both := func(what string, times int, names ...string) {
		t.Helper()
		done := time.Now()
		for _, l := range []*listener{&old, &current} {
			livetest.Eventually(t, what+" is told", func() bool {
				return len(l.tools.list()) >= times && len(l.prompts.list()) >= times && len(l.resources.list()) >= times
			})
			for _, told := range []time.Time{l.tools.list()[times-1], l.prompts.list()[times-1], l.resources.list()[times-1]} {
				if late := told.Sub(done); late > time.Second {
					t.Errorf("%s is told %s after it was done", what, late)
				}
			}
		}
		for _, p := range []*peer{legacy, modern} {
			if got := p.names(); !slices.Equal(got, names) {
				t.Errorf("after %s: %v, want %v", what, got, names)
			}
		}
	}
	elsewhere(t, "install", home, twin, filepath.Join(scratch, "cache"))
	both("an install", 1, "desk__brief", "desk__do", "desk__loose", "twin__brief", "twin__do", "twin__loose")
	legacy.said("twin__do", args("echo"))
	pids := s.pids()
	elsewhere(t, "remove", home, "twin")
	both("a removal", 2, "brief", "do", "loose")
	livetest.Eventually(t, "its satellite is gone", func() bool { return len(pids) == 1 && !livetest.Running(pids[0]) })
	elsewhere(t, "install", home, twin, filepath.Join(scratch, "cache")) // what had come too often would be there before it
	both("an install again", 3, "desk__brief", "desk__do", "desk__loose", "twin__brief", "twin__do", "twin__loose")
	for _, l := range []*listener{&old, &current} {
		if n := []int{len(l.tools.list()), len(l.prompts.list()), len(l.resources.list())}; !slices.Equal(n, []int{3, 3, 3}) {
			t.Errorf("told %v times of three changes", n)
		}
	}
}

func TestAReplacementIsToldToWhoSubscribed(t *testing.T) {
	home := copied(t)
	s := openAt(t, home, mcp.Options{})
	var l listener
	p := s.connect(t, handshake, l.options())
	for _, uri := range []string{"desk://today", "desk://page/1/front"} {
		if err := p.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: "desk://today"}); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "desk")
	if err := os.CopyFS(source, os.DirFS("testdata/desk")); err != nil {
		t.Fatal(err)
	}
	was := `description = "Does one thing."`
	for n, is := range []string{`description = "Does one thing, and says so."`, `description = "Does one thing, and says it otherwise."`} {
		replace(t, filepath.Join(source, "extension.toml"), was, is)
		was = is
		if err := installFrom(home, source, filepath.Join(scratch, "cache")); err != nil {
			t.Fatal(err)
		}
		livetest.Eventually(t, "it is told", func() bool { return len(l.updated.list()) > n && len(l.tools.list()) > n })
	}
	// What had come of the first, and must not, would be there before the second.
	if got := l.updated.list(); !slices.Equal(got, []string{"desk://page/1/front", "desk://page/1/front"}) {
		t.Errorf("%v", got)
	}
	if n := []int{len(l.tools.list()), len(l.prompts.list()), len(l.resources.list())}; !slices.Equal(n, []int{2, 0, 0}) {
		t.Errorf("told %v times of two changes of the tools alone", n)
	}
}

func replace(t *testing.T, path, old, with string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%v: %s has no %q", err, path, old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAToolThatTheProtocolHasNoPlaceForIsLeftOut(t *testing.T) {
	home := copied(t)
	source := filepath.Join(t.TempDir(), "desk")
	if err := os.CopyFS(source, os.DirFS("testdata/desk")); err != nil {
		t.Fatal(err)
	}
	// The protocol wants such a note on a plain value.
	replace(t, filepath.Join(source, "schema/loose.json"), `{"description"`, `{"properties": {"a": {"type": "array", "x-mcp-header": "Region"}}, "description"`)
	s := openAt(t, home, mcp.Options{})
	p := s.connect(t, handshake, sdk.ClientOptions{})
	if err := installFrom(home, source, filepath.Join(scratch, "cache")); err != nil {
		t.Fatalf("the manifest takes no such note: %v", err)
	}
	livetest.Eventually(t, "it is left out", func() bool { return slices.Equal(p.names(), []string{"brief", "do"}) })
	if !strings.Contains(s.log.String(), "left out") || !strings.Contains(s.log.String(), "x-mcp-header") {
		t.Errorf("%s", s.log)
	}
}

func TestWarmSatellitesAreThereBeforeACall(t *testing.T) {
	s := open(t, mcp.Options{Warm: true, Except: []string{"twin"}})
	livetest.Eventually(t, "desk is there", func() bool { return len(s.pids()) > 0 })
	if got := s.Session().Status(); got[0].PID == 0 || got[1].PID != 0 {
		t.Errorf("%+v", got)
	}
}
