package ext_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/prelude/ext"
	"github.com/loomext/loomext/prelude/internal/config"
)

func TestTheZeroCtxIsAContext(t *testing.T) {
	var ctx ext.Ctx
	if ctx.Err() != nil || ctx.Value("key") != nil || ctx.Done() != nil {
		t.Error("the zero Ctx is not context.Background")
	}
	if _, ok := ctx.Deadline(); ok {
		t.Error("the zero Ctx has a deadline")
	}
	derived, cancel := context.WithCancel(ctx)
	cancel()
	if derived.Err() == nil {
		t.Error("a context derived from the zero Ctx cannot be cancelled")
	}
}

func TestWithKeepsTheCall(t *testing.T) {
	var told []string
	ctx := ext.Ctx{Context: t.Context(), Strand: "main", DeadlineMS: 250, Report: func(text string) { told = append(told, text) }}
	short, cancel := context.WithTimeout(ctx, time.Hour)
	derived := ctx.With(short)
	derived.Report("half")
	if derived.Strand != "main" || derived.DeadlineMS != 250 || len(told) != 1 {
		t.Errorf("the call is lost: %+v, %q", derived, told)
	}
	if _, ok := derived.Deadline(); !ok {
		t.Error("the derived deadline is lost")
	}
	cancel()
	if <-derived.Done(); derived.Err() == nil || ctx.Err() != nil {
		t.Error("cancelling the derived context must end it and only it")
	}
	ext.Ctx{}.With(context.Background()).Report("dropped")
}

func TestTypedRunsWithAZeroCtx(t *testing.T) {
	tool := ext.Typed(func(ctx ext.Ctx, args struct{ N int }) (ext.Outcome, error) {
		ctx.Report("working")
		return ext.JSON(args.N + 1)
	})
	outcome, err := tool(ext.Ctx{}, json.RawMessage(`{"N":1.0}`))
	if err != nil || string(outcome.Content[0].(ext.JSONContent).Value) != "2" || outcome.Terminate != ext.ContinueRun {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestTypedRefusesWhatDoesNotDecode(t *testing.T) {
	called := false
	tool := ext.Typed(func(ext.Ctx, struct {
		Days int
		City string
	}) (ext.Outcome, error) {
		called = true
		return ext.Text("fine"), nil
	})
	for args, want := range map[string]string{
		`{"Days":"x","City":1}`: "arguments: .Days: expected integer, got string; .City: expected string, got number",
		`[]`:                    "arguments: expected object, got array",
		`{"Days":1`:             "arguments: not JSON: the text ends after 9 bytes, inside a value",
		``:                      "arguments: not JSON: the text is empty",
	} {
		outcome, err := tool(ext.Ctx{}, json.RawMessage(args))
		var refusal *ext.Refusal
		if !errors.As(err, &refusal) || refusal.Text != want || len(outcome.Content) != 0 {
			t.Errorf("%s: %+v, %v; want %s", args, outcome, err, want)
		}
	}
	if called {
		t.Error("the function was called")
	}
}

func TestTypedWithoutAFunctionIsAnError(t *testing.T) {
	tool := ext.Typed[struct{}](nil)
	if _, err := tool(ext.Ctx{}, json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), "no function") {
		t.Errorf("%v", err)
	}
}

func TestDecodeArgsGivesNothingHalfDecoded(t *testing.T) {
	args, err := ext.DecodeArgs[struct{ A, B int }](json.RawMessage(`{"A":1,"B":"x"}`))
	if err == nil || args.A != 0 {
		t.Errorf("%+v, %v", args, err)
	}
}

func TestJSONIsNotReEscaped(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{map[string]string{"html": "<a&b>"}, `{"html":"<a&b>"}`},
		{json.RawMessage(` {"n": 1e3, "id":1234567890123456789, "t":"<"} `), ` {"n": 1e3, "id":1234567890123456789, "t":"<"} `},
		{[]json.RawMessage{json.RawMessage("1.0")}, `[1.0]`},
		{json.RawMessage(nil), `null`},
		{nil, `null`},
		{"a\n", `"a\n"`},
	} {
		outcome, err := ext.JSON(test.value)
		if err != nil || len(outcome.Content) != 1 {
			t.Errorf("%#v: %+v, %v", test.value, outcome, err)
		} else if got := string(outcome.Content[0].(ext.JSONContent).Value); got != test.want {
			t.Errorf("%#v became %s", test.value, got)
		}
	}
	for _, value := range []any{func() {}, json.RawMessage(`{`), json.RawMessage{}, map[string]any{"c": make(chan int)}} {
		if outcome, err := ext.JSON(value); err == nil || len(outcome.Content) != 0 {
			t.Errorf("%#v: %+v, %v", value, outcome, err)
		}
	}
}

func TestRefuse(t *testing.T) {
	refusal := ext.Refuse("days is %d: %w", 9, io.EOF)
	if refusal.Error() != "days is 9: EOF" || refusal.Text != refusal.Error() || !errors.Is(refusal, io.EOF) {
		t.Errorf("%q", refusal)
	}
	var none *ext.Refusal
	if none.Error() == "" || errors.Is(none, io.EOF) {
		t.Error("a nil refusal has no text")
	}
}

func TestTerminateNames(t *testing.T) {
	var zero ext.Terminate
	if zero != ext.ContinueRun || ext.ContinueRun.String() != "ContinueRun" || ext.TerminateRun.String() != "TerminateRun" || ext.Terminate(7).String() != "Terminate(7)" {
		t.Error("the names are wrong")
	}
}

// One test, because the configuration of a process is set once.
func TestConfig(t *testing.T) {
	type settings struct {
		Results int
		Region  string
	}
	if got, err := ext.Config[settings](); err == nil || got != (settings{}) {
		t.Errorf("before it is set: %+v, %v", got, err)
	}
	if err := config.Set([]byte(`{"Results":5,"Region":"eu"}`)); err != nil {
		t.Fatal(err)
	}
	if got, err := ext.Config[settings](); err != nil || got != (settings{5, "eu"}) {
		t.Errorf("%+v, %v", got, err)
	}
	_, err := ext.Config[struct{ Results string }]()
	if err == nil || !strings.Contains(err.Error(), "ext: config: .Results: expected string, got number") {
		t.Errorf("%v", err)
	}
}
