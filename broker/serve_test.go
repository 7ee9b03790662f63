package broker

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomext/loomext/broker/artifact"
	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/internal/wire"
)

// every capability that a manifest may request and the broker routes.
var everything = []string{"ask", "clock", "fs_read", "fs_write", "kv", "net", "proc", "rand"}

func newBroker(t *testing.T, o Options) *Broker {
	t.Helper()
	if o.Config.Ceilings == (config.Ceilings{}) {
		o.Config.Ceilings = config.Default().Ceilings
	}
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// open begins an invocation of an extension that may do everything.
func open(t *testing.T, o Options, emit func(Report)) *Invocation {
	t.Helper()
	return newBroker(t, o).Open(Terms{Extension: "weather", Requested: everything, Granted: everything}, "s1").Begin(emit, nil)
}

func arg(key string, v wire.Value) wire.Field { return wire.Field{Key: key, Value: v} }

func serve(i *Invocation, capability string, args ...wire.Field) wire.Result {
	return i.Serve(context.Background(), capability, wire.Map(args...))
}

// refusedWith holds a result against a code and a part of its message.
func refusedWith(t *testing.T, r wire.Result, code, part string) {
	t.Helper()
	if r.OK || r.Fault.Code != code || !strings.Contains(r.Fault.Msg, part) {
		t.Errorf("got %v %q; want %s with %q", r.OK, r.Fault, code, part)
	}
}

func done(t *testing.T, r wire.Result) wire.Value {
	t.Helper()
	if !r.OK {
		t.Fatalf("refused: %v", r.Fault)
	}
	return r.Value
}

func TestACallIsJudgedInOrder(t *testing.T) {
	b := newBroker(t, Options{})
	none := b.Open(Terms{Extension: "none"}, "s").Begin(nil, nil)
	asked := b.Open(Terms{Extension: "asked", Requested: everything}, "s").Begin(nil, nil)
	granted := b.Open(Terms{Extension: "granted", Granted: everything}, "s").Begin(nil, nil)
	all := b.Open(Terms{Extension: "all", Requested: everything, Granted: everything}, "s").Begin(nil, nil)
	for name, r := range routes {
		wrong := arg("wrong", wire.Nil()) // what is wrong with the arguments comes after authority
		if r.capability != "" {
			refusedWith(t, serve(none, name, wrong), wire.CodeDenied, "does not request "+r.capability+"; name it in requests")
			refusedWith(t, serve(granted, name, wrong), wire.CodeDenied, "does not request "+r.capability)
			refusedWith(t, serve(asked, name, wrong), wire.CodeDenied, "did not grant "+r.capability+" to asked; install it again and grant "+r.capability)
		}
		if r.serve == nil {
			refusedWith(t, serve(all, name, wrong), wire.CodeUnavailable, name+" is not served")
		} else {
			refusedWith(t, serve(all, name, wrong), wire.CodeInvalidArgument, `"wrong" is no argument of it`)
		}
	}
	for _, name := range []string{"", "kv", "kv.Get", "kv.get ", "net.fetch", strings.Repeat("x", 1<<20), "\x1b[2J"} {
		r := serve(all, name)
		refusedWith(t, r, wire.CodeUnknownCapability, "is no capability")
		if len(r.Fault.Msg) > 500 || strings.ContainsRune(r.Fault.Msg, '\x1b') {
			t.Errorf("the message repeats %.80q", r.Fault.Msg)
		}
	}
}

func TestOneCapabilityIsNotAnother(t *testing.T) {
	b := newBroker(t, Options{})
	for _, only := range everything {
		i := b.Open(Terms{Extension: "e", Requested: []string{only}, Granted: []string{only}}, "s").Begin(nil, nil)
		for name, r := range routes {
			has := r.capability == "" || r.capability == only
			if code := serve(i, name, arg("wrong", wire.Nil())).Fault.Code; (code != wire.CodeDenied) != has {
				t.Errorf("with %s, %s is %s", only, name, code)
			}
		}
	}
}

func TestAfterTheAnswerNothingIsAuthorized(t *testing.T) {
	b := newBroker(t, Options{})
	s := b.Open(Terms{Extension: "weather", Requested: everything, Granted: everything}, "s1")
	reported := 0
	first := s.Begin(func(Report) { reported++ }, nil)
	done(t, serve(first, "kv.set", arg("key", wire.String("k")), arg("value", wire.Bin([]byte("v")))))
	first.End()
	second := s.Begin(nil, nil)
	for name := range routes {
		refusedWith(t, serve(first, name), wire.CodeUnauthorized, "answered")
	}
	refusedWith(t, serve(first, "no.such"), wire.CodeUnauthorized, "answered")
	refusedWith(t, serve(first, "report.emit", emission("partial", "text/plain", "late")...), wire.CodeUnauthorized, "answered")
	if reported != 0 {
		t.Error("a report went out after the answer")
	}
	done(t, serve(second, "clock.now"))
}

func TestACallWhoseContextHasEndedDoesNothing(t *testing.T) {
	i := open(t, Options{}, func(Report) { t.Error("reported") })
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancelLate := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancelLate()
	set := wire.Map(arg("key", wire.String("k")), arg("value", wire.Bin(nil)))
	refusedWith(t, i.Serve(cancelled, "kv.set", set), wire.CodeCancelled, "kv.set")
	refusedWith(t, i.Serve(late, "kv.set", set), wire.CodeDeadline, "kv.set")
	refusedWith(t, i.Serve(cancelled, "report.emit", wire.Map(emission("partial", "text/plain", "x")...)), wire.CodeCancelled, "")
	if found, _ := mustGet(t, done(t, serve(i, "kv.get", arg("key", wire.String("k")))), "found").AsBool(); found {
		t.Error("the value was set")
	}
}

func mustGet(t *testing.T, v wire.Value, key string) wire.Value {
	t.Helper()
	got, ok := v.Get(key)
	if !ok {
		t.Fatalf("no %s in the value", key)
	}
	return got
}

func TestEveryFaultOfTheArgumentsIsNamed(t *testing.T) {
	i := open(t, Options{}, nil)
	for name, c := range map[string]struct {
		capability string
		args       []wire.Field
		wants      []string
	}{
		"all missing": {"net.request", nil, []string{"method is missing; want a str", "url is missing; want a str", "headers is missing; want a map", "body is missing; want a bin"}},
		"all of another type": {"net.request",
			[]wire.Field{arg("method", wire.Nil()), arg("url", wire.Bin(nil)), arg("headers", wire.List()), arg("body", wire.String(""))},
			[]string{"method is nil; want a str", "url is a bin; want a str", "headers is a list; want a map", "body is a str; want a bin"}},
		"a header of another type": {"net.request",
			[]wire.Field{arg("method", wire.String("GET")), arg("url", wire.String("u")), arg("headers", wire.Map(arg("A\n", wire.Int(1)), arg("B", wire.String("\xff")))), arg("body", wire.Bin(nil))},
			[]string{`headers["A\n"] is an int; want a str`, `headers["B"] is no UTF-8`}},
		"a header twice": {"net.request",
			[]wire.Field{arg("method", wire.String("GET")), arg("url", wire.String("u")), arg("headers", wire.Map(arg("A", wire.String("1")), arg("A", wire.String("2")))), arg("body", wire.Bin(nil))},
			[]string{`headers["A"] comes twice`}},
		"extra":           {"clock.now", []wire.Field{arg("zone", wire.String("UTC"))}, []string{`"zone" is no argument of it`}},
		"extra and wrong": {"rand.bytes", []wire.Field{arg("n", wire.Float(1)), arg("m", wire.Int(1))}, []string{"n is a float; want an int", `"m" is no argument of it`}},
		"twice":           {"rand.bytes", []wire.Field{arg("n", wire.Int(1)), arg("n", wire.Int(2))}, []string{"n comes twice"}},
		"no UTF-8":        {"kv.get", []wire.Field{arg("key", wire.String("\xff"))}, []string{"key is no UTF-8"}},
		"key and value":   {"kv.set", nil, []string{"key is missing", "value is missing"}},
	} {
		r := serve(i, c.capability, c.args...)
		for _, want := range c.wants {
			t.Run(name, func(t *testing.T) { refusedWith(t, r, wire.CodeInvalidArgument, want) })
		}
	}
	refusedWith(t, i.Serve(context.Background(), "clock.now", wire.List()), wire.CodeInvalidArgument, "the arguments are a list; want a map")
	refusedWith(t, i.Serve(context.Background(), "clock.now", wire.Value{}), wire.CodeInvalidArgument, "the arguments are nil")
}

func TestAFloodOfFaultsIsCutShort(t *testing.T) {
	i := open(t, Options{}, nil)
	var many []wire.Field
	for n := range 10_000 {
		many = append(many, arg(fmt.Sprintf("%d-%s", n, strings.Repeat("\x00", 500)), wire.Int(1)))
	}
	headers := []wire.Field{arg("method", wire.String("GET")), arg("url", wire.String("u")), arg("headers", wire.Map(many...)), arg("body", wire.Bin(nil))}
	for _, r := range []wire.Result{serve(i, "clock.now", many...), serve(i, "net.request", headers...)} {
		refusedWith(t, r, wire.CodeInvalidArgument, "; and more")
		if len(r.Fault.Msg) > 4<<10 {
			t.Errorf("the message has %d bytes", len(r.Fault.Msg))
		}
	}
}

func TestTheClockTellsTheTime(t *testing.T) {
	i := open(t, Options{}, nil)
	before := time.Now()
	ns, ok := mustGet(t, done(t, serve(i, "clock.now")), "unix_ns").AsInt()
	if at := time.Unix(0, ns); !ok || at.Before(before.Round(0)) || at.After(time.Now().Round(0)) {
		t.Errorf("it is %v", at)
	}
}

func TestRandomBytesAreAsManyAsAskedFor(t *testing.T) {
	i := open(t, Options{}, nil)
	seen := map[string]bool{}
	for _, n := range []int{0, 1, 32, 32, maxRandom} {
		b, ok := mustGet(t, done(t, serve(i, "rand.bytes", arg("n", wire.Int(int64(n))))), "bytes").AsBin()
		if !ok || len(b) != n {
			t.Errorf("asked for %d, got %d", n, len(b))
		}
		if n == 32 && seen[string(b)] {
			t.Error("the same bytes came twice")
		}
		seen[string(b)] = true
	}
	refusedWith(t, serve(i, "rand.bytes", arg("n", wire.Int(-1))), wire.CodeInvalidArgument, "n is -1; want 0 to 65536")
	refusedWith(t, serve(i, "rand.bytes", arg("n", wire.Int(maxRandom+1))), wire.CodeTooLarge, "n is 65537")
}

func TestTheLogHasTheCallAndNotItsArguments(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	i := open(t, Options{Logger: log, Artifacts: artifact.Open(t.TempDir())}, nil)
	const canary = "c4n4ry"
	done(t, serve(i, "kv.set", arg("key", wire.String(canary)), arg("value", wire.Bin([]byte(canary)))))
	done(t, serve(i, "kv.get", arg("key", wire.String(canary))))
	done(t, serve(i, "report.emit", emission(canary, "text/"+canary, canary)...))
	serve(i, "net.request", arg("url", wire.String("https://"+canary)), arg(canary, wire.Nil()))
	serve(i, canary)
	if strings.Contains(text.String(), canary) {
		t.Errorf("the log repeats arguments:\n%s", &text)
	}
	for _, want := range []string{
		"extension=weather capability=kv.set code=ok duration=", "capability=net.request code=invalid_argument", "capability=unknown code=unknown_capability",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	text.Reset()
	quiet := open(t, Options{Logger: slog.New(slog.NewTextHandler(&text, nil))}, nil)
	serve(quiet, "clock.now")
	if text.Len() > 0 {
		t.Errorf("above debug it logs %s", &text)
	}
}

func TestManyCallsAtOnce(t *testing.T) {
	var reports []string
	i := open(t, Options{Artifacts: artifact.Open(t.TempDir())}, func(r Report) { reports = append(reports, r.Name) })
	const callers, each = 32, 50
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			key := fmt.Sprint("key", c%8)
			for n := range each {
				value := fmt.Appendf(nil, "%s=%d", key, n)
				if r := serve(i, "kv.set", arg("key", wire.String(key)), arg("value", wire.Bin(value))); !r.OK {
					t.Errorf("set: %v", r.Fault)
				}
				clear(value) // the frame is used again
				r := serve(i, "kv.get", arg("key", wire.String(key)))
				if got, _ := r.Value.Get("value"); !r.OK || !isOwn(got, key) {
					t.Errorf("get: %v %v", r.Fault, got)
				}
				if n%10 == 9 {
					serve(i, "kv.delete", arg("key", wire.String(fmt.Sprint("gone", c))))
				}
				serve(i, "report.emit", emission("partial", "text/plain", "x")...)
				serve(i, "rand.bytes", arg("n", wire.Int(64)))
				serve(i, slices.Collect(maps.Keys(routes))[n%len(routes)])
			}
		})
	}
	wg.Wait()
	if len(reports) != callers*each {
		t.Errorf("%d reports; want %d", len(reports), callers*each)
	}
}

func isOwn(v wire.Value, key string) bool {
	b, ok := v.AsBin()
	return ok && strings.HasPrefix(string(b), key+"=")
}
