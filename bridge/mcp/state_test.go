package mcp

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAStateExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := state{Rounds: 1, Answers: []answered{{asked{"key", "digest"}, json.RawMessage(`"secret"`)}}, Asked: []asked{{"next", "other"}}}
		text, err := seal(s, "bind")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "secret") {
			t.Error("it can be read")
		}
		time.Sleep(stateLife)
		got, err := unseal(text, "bind")
		if err != nil || got.Rounds != 1 || string(got.Answers[0].Answer) != `"secret"` || got.Asked[0].Key != "next" {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := unseal(text, "another"); !errors.Is(err, errState) {
			t.Errorf("%v", err)
		}
		time.Sleep(2 * time.Second)
		if _, err := unseal(text, "bind"); !errors.Is(err, errExpired) {
			t.Errorf("%v", err)
		}
	})
}

func TestAStateIsBounded(t *testing.T) {
	s := state{Answers: []answered{{asked{"key", "digest"}, json.RawMessage(`"` + strings.Repeat("a", maxState) + `"`)}}}
	if _, err := seal(s, ""); err == nil {
		t.Error("a state has no bound")
	}
	for _, text := range []string{"", "A", "====", strings.Repeat("A", 3*maxState)} {
		if _, err := unseal(text, ""); !errors.Is(err, errState) {
			t.Errorf("%.10s: %v", text, err)
		}
	}
}

func TestABindingIsOfTheArgumentsAndNotOfHowTheyAreWritten(t *testing.T) {
	one := binding(call{method: "m", extension: "e", tool: "t", args: json.RawMessage(`{"a":1,"b":"x"}`)})
	for args, same := range map[string]bool{`{ "b":"\u0078", "a":1.0 }`: true, `{"a":1}`: false, `{"a":1,"b":"x","b":"x"}`: false, `{`: false} {
		if got := binding(call{method: "m", extension: "e", tool: "t", args: json.RawMessage(args)}); (got == one) != same {
			t.Errorf("%s: same is %t", args, got == one)
		}
	}
	if binding(call{method: "m", extension: "e", tool: "u", args: json.RawMessage(`{"a":1,"b":"x"}`)}) == one {
		t.Error("another tool has the same")
	}
}
