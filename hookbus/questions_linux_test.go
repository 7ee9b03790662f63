package hookbus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/internal/livetest"
)

func TestLoadOrder(t *testing.T) {
	ordered := config.Config{Hooks: config.Hooks{Order: []string{"gamma", "absent", "beta", "gamma"}}}
	for _, c := range []struct {
		config config.Config
		order  []string
		want   string
	}{
		{config.Config{}, nil, "alpha beta gamma"},
		{ordered, nil, "gamma beta alpha"},
		{ordered, []string{"beta"}, "beta alpha gamma"},
		{ordered, []string{}, "alpha beta gamma"},
	} {
		b := over(t, open(t, c.config, "alpha", "beta", "gamma"), hookbus.Options{Order: c.order})
		var names []string
		for _, x := range b.Status() {
			names = append(names, x.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v: %s, want %s", c.order, got, c.want)
		}
	}
}

func TestInjectionsComeInLoadOrderInTheirFences(t *testing.T) {
	b, _ := on(t, hookbus.Options{Order: []string{"gamma", "alpha"}}, "alpha", "beta", "gamma")
	got := b.BeforeAgentStart(t.Context(), hookbus.RunStart{OpID: "alpha:say:from alpha\ngamma:say:a</extension>b <b>bold</b>", Strand: "main"})
	want := []hookbus.Injection{
		{"gamma", `<extension name="gamma">a&lt;/extension>b <b>bold</b></extension>`},
		{"alpha", `<extension name="alpha">from alpha</extension>`},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	counts(t, b, "beta", "before_agent_start", 1, 1, 0, 0)
	got = b.BeforeAgentStart(t.Context(), hookbus.RunStart{OpID: "alpha:say:" + strings.Repeat("x", 9000) + "\nbeta:say:short"})
	if len(got) != 1 || got[0].Extension != "beta" {
		t.Errorf("%v", got)
	}
	counts(t, b, "alpha", "before_agent_start", 2, 1, 0, 1)
}

func TestNotesShareOneAllowance(t *testing.T) {
	b, _ := on(t, hookbus.Options{Allowance: 100, Tokens: func(text []byte) int { return len(text) }}, "alpha", "beta", "gamma")
	ask := func(op string) (names string) {
		for _, note := range b.BeforeCompact(t.Context(), hookbus.Compaction{OpID: op, Reason: "a fourth word", TokensBefore: 9007199254740993, SummarizedMessages: 7, RetainedMessages: 2}) {
			names += note.Text
		}
		return names
	}
	if got, want := ask("alpha:payload"), `<extension name="alpha">a fourth word 9007199254740993 7 2</extension>`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	long := strings.Repeat("x", 30)
	if got := ask("alpha:say:" + long + "\nbeta:say:" + long + "\ngamma:say:tiny"); strings.Contains(got, "beta") || !strings.Contains(got, "alpha") || strings.Contains(got, "gamma") != (len(got) <= 100 && strings.Contains(got, "tiny")) {
		t.Errorf("%s", got)
	}
	if s := of(t, b, "beta", "before_compact"); s.Failed != 1 || !strings.Contains(s.LastFailure, "longer than the") {
		t.Errorf("%+v", s)
	}
}

func TestAnyBlockWinsInLoadOrder(t *testing.T) {
	b, _ := on(t, hookbus.Options{Order: []string{"beta", "alpha"}}, "alpha", "beta", "gamma")
	for _, c := range []struct{ op, by, reason string }{
		{"", "", ""},
		{"alpha:block:no", "alpha", "no"},
		{"beta:block:never\nalpha:block:no", "beta", "never"},
		{"beta:slow:30\nalpha:block:", "alpha", "it gave no reason"},
	} {
		v := b.ToolCall(t.Context(), hookbus.Call{OpID: c.op, Tool: "shell"})
		if v.Allowed != (c.by == "") || v.By != c.by || v.Reason != c.reason || v.Err != nil {
			t.Errorf("%q: %+v, want %q by %q", c.op, v, c.reason, c.by)
		}
	}
	counts(t, b, "alpha", "tool_call", 4, 4, 3, 0)
	counts(t, b, "beta", "tool_call", 4, 4, 1, 0)
}

func TestArgumentsReachAGateByteForByte(t *testing.T) {
	b, _ := on(t, hookbus.Options{}, "alpha")
	for _, args := range []string{`{"n":1.0, "big": 1234567890123456789,"e":1e3,"s":"<é>\u0041"}`, `null`, `[]`, ""} {
		v := b.ToolCall(t.Context(), hookbus.Call{OpID: "alpha:arguments", Tool: "sh\"é\xff", Arguments: json.RawMessage(args), SourceIndex: 3})
		if args == "" {
			args = "{}"
		}
		if want := args + " sh\"é\uFFFD 3"; v.Reason != want {
			t.Errorf("%q, want %q", v.Reason, want)
		}
	}
	v := b.ToolCall(t.Context(), hookbus.Call{Tool: "shell", Arguments: json.RawMessage(`{},"op_id":"x"`)})
	if v.Allowed || v.By != "" || !strings.Contains(v.Reason, "not JSON") {
		t.Errorf("%+v", v)
	}
	counts(t, b, "alpha", "tool_call", 4, 4, 4, 0)
}

// A gate fails in every way it can; closed it blocks with its name, the reason and what to
// do, and open it lets the call through.
func TestGatesThatGiveNoVerdict(t *testing.T) {
	const deadline = 300 * time.Millisecond
	for _, c := range []struct{ name, op, word, remedy string }{
		{"late", "alpha:spin", "Late: it did not answer within 300ms", "deadline_ms"},
		{"late though it heeds", "alpha:hold", "", ""},
		{"panicked", "alpha:panic:forged </extension>", "Crashed", "loomext logs alpha"},
		{"died", "alpha:die:of it", "Crashed", "loomext logs alpha"},
		{"refused", "alpha:refuse:no opinion", `Error: it answered "refused": "no opinion"`, "Call again"},
		{"no verdict", "alpha:nothing", "Error", "Call again"},
	} {
		for _, gate := range []hookbus.Gate{hookbus.Closed, hookbus.Open} {
			t.Run(c.name+" "+string(gate), func(t *testing.T) {
				b, s := on(t, hookbus.Options{
					Gate:     map[string]hookbus.Gate{"alpha": gate},
					Deadline: map[string]time.Duration{"tool_call": deadline},
				}, "alpha", "beta")
				b.ToolCall(t.Context(), hookbus.Call{}) // started
				v := b.ToolCall(t.Context(), hookbus.Call{OpID: c.op, Tool: "shell"})
				if v.Allowed != (gate == hookbus.Open) {
					t.Errorf("%+v", v)
				}
				if gate == hookbus.Closed {
					if v.By != "alpha" || v.Err == nil || !strings.Contains(v.Reason, c.word) || !strings.Contains(v.Reason, c.remedy) {
						t.Errorf("%+v, want %q and %q", v, c.word, c.remedy)
					}
					if reply := v.Reply(); strings.Count(reply, "</extension>") != 1 || strings.Contains(v.Reason, `gate = "open"`) {
						t.Errorf("%s", reply)
					}
				}
				counts(t, b, "alpha", "tool_call", 2, 1, 0, 1)
				counts(t, b, "beta", "tool_call", 2, 2, 0, 0)
				// The place is kept.
				if v := b.ToolCall(t.Context(), hookbus.Call{}); !v.Allowed {
					t.Errorf("%+v", v)
				}
				if st := state(t, s, "alpha"); st.State == host.StateOut {
					t.Errorf("%+v", st)
				}
				if v := b.ToolCall(t.Context(), hookbus.Call{OpID: c.op + "\nbeta:block:no"}); v.Allowed || gate == hookbus.Open && v.By != "beta" {
					t.Errorf("%+v", v)
				}
			})
		}
	}
}

func TestUnreadableVerdicts(t *testing.T) {
	for _, gate := range []hookbus.Gate{hookbus.Closed, hookbus.Open} {
		s := openWith(t, config.Config{}, host.SessionOptions{Loaded: installed(impostor(t, "alpha"))})
		b := over(t, s, hookbus.Options{Gate: map[string]hookbus.Gate{"alpha": gate}})
		for _, answer := range []string{
			`{}`, `[]`, `"allow"`, `null`, `{"verdict":"allowed"}`, `{"verdict":true}`, `{"Verdict":"allow"}`,
			`{"verdict":"block","verdict":"allow"}`, `{"verdict":{"verdict":"allow"}}`, `{"verdict":`, `allow`, `{"a":"\"verdict\":\"allow\""}`,
		} {
			v := b.ToolCall(t.Context(), hookbus.Call{OpID: answer})
			if v.Allowed != (gate == hookbus.Open) || !v.Allowed && (v.By != "alpha" || v.Err == nil || !strings.Contains(v.Reason, "Unreadable")) {
				t.Errorf("%s: %+v", answer, v)
			}
		}
		for answer, allowed := range map[string]bool{
			` { "extra" : [1,{"verdict":"block"}] , "verdict" : "allow" } `: true,
			`{"verdict":"\u0061llow"}`:                                      true,
			`{"verdict":"block"}`:                                           false,
			`{"verdict":"block","reason":7}`:                                false,
			`{"verdict":"block","reason":"a","reason":"b"}`:                 false,
		} {
			if v := b.ToolCall(t.Context(), hookbus.Call{OpID: answer}); v.Allowed != allowed || v.Err != nil {
				t.Errorf("%s: %+v", answer, v)
			}
		}
		if s := of(t, b, "alpha", "tool_call"); s.Failed != 12 || s.Answered != 5 || s.Blocked != 3 {
			t.Errorf("%+v", s)
		}
	}
}

func TestAReasonIsBounded(t *testing.T) {
	s := openWith(t, config.Config{}, host.SessionOptions{Loaded: installed(impostor(t, "alpha"))})
	b := over(t, s, hookbus.Options{})
	v := b.ToolCall(t.Context(), hookbus.Call{OpID: `{"verdict":"block","reason":"` + strings.Repeat("é", 100_000) + `"}`})
	if v.Allowed || len(v.Reason) > 5<<10 || strings.Contains(v.Reason, "\uFFFD") {
		t.Errorf("%d bytes", len(v.Reason))
	}
}

func TestOutOnlyPastTheRestarts(t *testing.T) {
	b, s := on(t, hookbus.Options{}, "alpha", "beta")
	open := over(t, s, hookbus.Options{Gate: map[string]hookbus.Gate{"alpha": hookbus.Open}})
	for n := range host.MaxRestarts + 1 {
		if st := state(t, s, "alpha"); st.State == host.StateOut {
			t.Fatalf("out after %d: %+v", n, st)
		}
		v := b.ToolCall(t.Context(), hookbus.Call{OpID: "alpha:die:again"})
		if v.Allowed || !strings.Contains(v.Reason, "Crashed") {
			t.Errorf("%+v", v)
		}
	}
	for range 2 {
		v := b.ToolCall(t.Context(), hookbus.Call{})
		if v.Allowed || v.By != "alpha" || !strings.Contains(v.Reason, "Out: ") || !strings.Contains(v.Reason, "not started again") || !strings.Contains(v.Reason, "another session") {
			t.Errorf("%+v", v)
		}
	}
	if v := open.ToolCall(t.Context(), hookbus.Call{}); !v.Allowed {
		t.Errorf("%+v", v)
	}
	for _, x := range b.Status() {
		if (x.State == host.StateOut) != (x.Name == "alpha") || x.Name == "alpha" && !strings.Contains(x.Reason, "not started again") {
			t.Errorf("%+v", x)
		}
	}
	if got := b.BeforeAgentStart(t.Context(), hookbus.RunStart{OpID: "all:say:here"}); len(got) != 1 || got[0].Extension != "beta" {
		t.Errorf("its sibling does not carry on: %v", got)
	}
	if got := joined(b.Context(t.Context(), `beta:add:"more"`, raws(`1`))); got != `1|"more"` {
		t.Error(got)
	}
}

func TestAnExtensionThatIsNotThereDeclaresNothing(t *testing.T) {
	b, _ := on(t, hookbus.Options{}, "alpha", "absent")
	if v := b.ToolCall(t.Context(), hookbus.Call{}); !v.Allowed {
		t.Errorf("%+v", v)
	}
	if st := b.Status(); len(st) != 2 || st[0].State != host.StateOut || st[0].Events != nil || st[0].Gate != "" {
		t.Errorf("%+v", st)
	}
}

// A gate that was tampered with is a gate, and out.
// damage gives a home with alpha and gamma, and what it does to the files of alpha.
func damage(t *testing.T, harm func(generation string) error) *host.Session {
	t.Helper()
	damaged := filepath.Join(t.TempDir(), "home")
	if err := os.CopyFS(damaged, os.DirFS(filepath.Join(home, "generations"))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(damaged+"/extensions", 0o700), os.Mkdir(damaged+"/generations", 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"alpha", "gamma"} {
		link, err := os.Readlink(filepath.Join(home, "extensions", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Rename(filepath.Join(damaged, filepath.Base(link)), filepath.Join(damaged, "generations", filepath.Base(link))),
			os.Symlink(link, filepath.Join(damaged, "extensions", name))); err != nil {
			t.Fatal(err)
		}
	}
	generation, err := filepath.EvalSymlinks(filepath.Join(damaged, "extensions", "alpha"))
	if err != nil {
		t.Fatal(err)
	}
	if err := harm(generation); err != nil {
		t.Fatal(err)
	}
	h, err := host.New(host.Options{Home: damaged, Config: &config.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	s, err := h.Open(t.Context(), host.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestADamagedGate(t *testing.T) {
	for name, harm := range map[string]func(string) error{
		"another program": func(generation string) error {
			artifact := filepath.Join(generation, "loom_satellite")
			return errors.Join(os.Chmod(artifact, 0o700), os.WriteFile(artifact, []byte("another program"), 0o700))
		},
		"a record that was changed": func(generation string) error {
			return os.WriteFile(filepath.Join(generation, "install.json"), []byte(`{"hooks": []}`), 0o600)
		},
		"no record":     func(generation string) error { return os.Remove(filepath.Join(generation, "install.json")) },
		"no generation": func(generation string) error { return os.RemoveAll(generation) },
	} {
		t.Run(name, func(t *testing.T) {
			s := damage(t, harm)
			for gate, allowed := range map[hookbus.Gate]bool{hookbus.Closed: false, hookbus.Open: true} {
				b := over(t, s, hookbus.Options{Gate: map[string]hookbus.Gate{"alpha": gate}})
				v := b.ToolCall(t.Context(), hookbus.Call{})
				if v.Allowed != allowed || !allowed && (v.By != "alpha" || !strings.Contains(v.Reason, "Out: ") || !strings.Contains(v.Reason, "loomext verify alpha")) {
					t.Errorf("%s: %+v", gate, v)
				}
				if got := joined(b.Context(t.Context(), "all:add:1", raws("0"))); got != "0|1" {
					t.Errorf("its sibling does not carry on: %s", got)
				}
			}
		})
	}
}

func TestAGateIsAskedBehindItsOwnTool(t *testing.T) {
	b, s := on(t, hookbus.Options{Deadline: map[string]time.Duration{"tool_call": 100 * time.Millisecond}}, "alpha", "beta")
	release := hold(t, s, "alpha")
	for range host.MaxRestarts + 2 {
		v := b.ToolCall(t.Context(), hookbus.Call{Tool: "shell"})
		if v.Allowed || v.By != "alpha" || host.KindOf(v.Err) != host.Busy || !strings.Contains(v.Reason, "Busy") || !strings.Contains(v.Reason, "tool of alpha") {
			t.Errorf("%+v", v)
		}
	}
	advice := over(t, s, hookbus.Options{Gate: map[string]hookbus.Gate{"alpha": hookbus.Open}, Deadline: map[string]time.Duration{"tool_call": time.Millisecond}})
	if v := advice.ToolCall(t.Context(), hookbus.Call{OpID: "beta:slow:1"}); !v.Allowed && v.By == "alpha" {
		t.Errorf("%+v", v)
	}
	var asked sync.WaitGroup
	patient := over(t, s, hookbus.Options{})
	asked.Go(func() {
		if v := patient.ToolCall(t.Context(), hookbus.Call{}); !v.Allowed {
			t.Errorf("%+v", v)
		}
	})
	livetest.Eventually(t, "the gate waits", func() bool { return state(t, s, "alpha").Waiting == 1 })
	release()
	asked.Wait()
	if st := state(t, s, "alpha"); st.Strikes != 0 || st.State != host.StateIdle {
		t.Errorf("waiting was a strike: %+v", st)
	}
	if v := b.ToolCall(t.Context(), hookbus.Call{}); !v.Allowed {
		t.Errorf("%+v", v)
	}
}

func TestACallerWhoGivesUpIsNotAllowed(t *testing.T) {
	b, s := on(t, hookbus.Options{}, "alpha")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v := b.ToolCall(ctx, hookbus.Call{}); v.Allowed || v.By != "alpha" || !strings.Contains(v.Reason, "Cancelled") {
		t.Errorf("%+v", v)
	}
	short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if v := b.ToolCall(short, hookbus.Call{OpID: "alpha:hold"}); v.Allowed {
		t.Errorf("%+v", v)
	}
	if st := state(t, s, "alpha"); st.Strikes != 0 {
		t.Errorf("%+v", st)
	}
}

// The gates are asked at once: each waits until both have been asked.
func TestQuestionsAreAskedInParallel(t *testing.T) {
	b, s := on(t, hookbus.Options{}, "alpha", "beta")
	b.ToolCall(t.Context(), hookbus.Call{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked sync.WaitGroup
	asked.Go(func() { b.ToolCall(ctx, hookbus.Call{OpID: "all:hold"}) })
	livetest.Eventually(t, "both answer", func() bool {
		return state(t, s, "alpha").State == host.StateAnswering && state(t, s, "beta").State == host.StateAnswering
	})
	cancel()
	asked.Wait()
}

func TestTwoSessionsAtOnce(t *testing.T) {
	h, err := host.New(host.Options{Home: home, Config: &config.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	var all sync.WaitGroup
	for n := range 2 {
		s, err := h.Open(t.Context(), host.SessionOptions{Extensions: []string{"alpha", "beta"}})
		if err != nil {
			t.Fatal(err)
		}
		b := over(t, s, hookbus.Options{})
		all.Go(func() {
			for i := range 20 {
				reason := fmt.Sprint("session ", n, " call ", i)
				if v := b.ToolCall(t.Context(), hookbus.Call{OpID: "beta:block:" + reason}); v.Allowed || v.Reason != reason {
					t.Errorf("%+v, want %s", v, reason)
				}
				b.AgentEnd(reason)
				if got := joined(b.Context(t.Context(), "alpha:add:"+fmt.Sprint(n), raws("[]"))); got != fmt.Sprint("[]|", n) {
					t.Error(got)
				}
			}
			flush(t, b)
			if seen := tool(t, s, "alpha", "seen", ""); strings.Contains(seen, fmt.Sprint("session ", 1-n)) || strings.Count(seen, "agent_end") != 20 {
				t.Errorf("session %d: %s", n, seen)
			}
			counts(t, b, "alpha", "tool_call", 20, 20, 0, 0)
		})
	}
	all.Wait()
}

func TestAClosedBusAllowsNothingThroughItsGates(t *testing.T) {
	b, _ := on(t, hookbus.Options{}, "alpha", "gamma")
	b.Close()
	b.Close()
	if v := b.ToolCall(t.Context(), hookbus.Call{}); v.Allowed || v.Reason == "" || v.Reply() == "" {
		t.Errorf("%+v", v)
	}
	if b.BeforeAgentStart(t.Context(), hookbus.RunStart{}) != nil || b.BeforeCompact(t.Context(), hookbus.Compaction{}) != nil {
		t.Error("a closed bus asks")
	}
	if got := joined(b.Context(t.Context(), "all:clear", raws("1"))); got != "1" {
		t.Error(got)
	}
	counts(t, b, "alpha", "tool_call", 0, 0, 0, 0)
	none, _ := on(t, hookbus.Options{}, "delta")
	none.Close()
	if v := none.ToolCall(t.Context(), hookbus.Call{}); !v.Allowed {
		t.Errorf("%+v", v)
	}
}

func TestWatchSeesEveryEventInLoadOrder(t *testing.T) {
	var seen []string
	b, _ := on(t, hookbus.Options{Watch: func(f hookbus.Fired) {
		var discarded *hookbus.Discarded
		seen = append(seen, fmt.Sprint(f.Extension, " ", f.Event, " ", string(f.Answer), " ", f.Err != nil, " ", errors.As(f.Err, &discarded), " ", f.Took > 0))
	}}, "alpha", "beta", "delta")
	b.ToolCall(t.Context(), hookbus.Call{OpID: "alpha:slow:30"})
	b.Context(t.Context(), "beta:grow:9000", raws("1"))
	want := []string{`alpha tool_call {"verdict":"allow"} false false true`, `beta tool_call {"verdict":"allow"} false false true`, `alpha context {"messages":[1]} false false true`}
	if len(seen) != 4 || strings.Join(seen[:3], "\n") != strings.Join(want, "\n") || !strings.HasSuffix(seen[3], " true true true") {
		t.Errorf("%s", strings.Join(seen, "\n"))
	}
}

func TestTheOperatorsDeadlinesAndGates(t *testing.T) {
	c := config.Config{
		Hooks:      config.Hooks{Deadline: map[string]time.Duration{"tool_call": 200 * time.Millisecond}},
		Extensions: map[string]config.Extension{"alpha": {Gate: "open"}, "beta": {Gate: "ajar"}},
	}
	b := over(t, open(t, c, "alpha", "beta"), hookbus.Options{})
	for _, x := range b.Status() {
		if want := map[string]hookbus.Gate{"alpha": hookbus.Open, "beta": hookbus.Closed}[x.Name]; x.Gate != want {
			t.Errorf("%+v", x)
		}
	}
	if v := b.ToolCall(t.Context(), hookbus.Call{OpID: "alpha:hold"}); !v.Allowed {
		t.Errorf("%+v", v)
	}
	counts(t, b, "alpha", "tool_call", 1, 0, 0, 1)
	if v := b.ToolCall(t.Context(), hookbus.Call{OpID: "beta:hold"}); v.Allowed || v.By != "beta" {
		t.Errorf("%+v", v)
	}
}

func TestALateVerdictIsNone(t *testing.T) {
	b, s := on(t, hookbus.Options{Deadline: map[string]time.Duration{"tool_call": 100 * time.Millisecond}}, "alpha")
	for range host.MaxRestarts + 2 {
		v := b.ToolCall(t.Context(), hookbus.Call{OpID: "alpha:slow:180"})
		if v.Allowed || host.KindOf(v.Err) != host.Deadline || !strings.Contains(v.Reason, "Late") {
			t.Errorf("%+v", v)
		}
	}
	if st := s.Status()[0]; st.Strikes != 0 || st.Restarts != 0 {
		t.Errorf("an answer is an answer: %+v", st)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if v := b.ToolCall(ctx, hookbus.Call{OpID: "alpha:slow:120"}); v.Allowed || !strings.Contains(v.Reason, "Cancelled") {
		t.Errorf("%+v", v)
	}
}
