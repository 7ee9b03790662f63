package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/ext"

	"example.com/units/measure"
)

func TestRunListsOneQuantityOrAll(t *testing.T) {
	one := text(t, `{"quantity":"speed"}`)
	if !strings.Contains(one, "  kn (knot)\n") || strings.Contains(one, "kilogram") {
		t.Errorf("speed: %s", one)
	}
	all := text(t, `{}`)
	for _, unit := range measure.All() {
		if !strings.Contains(all, "  "+unit.Symbol+" ("+unit.Name+")\n") {
			t.Errorf("%s is not listed", unit.Symbol)
		}
	}
}

func TestRunRefusesAnUnknownQuantity(t *testing.T) {
	_, err := Run(ext.Ctx{}, json.RawMessage(`{"quantity":"luck"}`))
	if err == nil || !strings.Contains(err.Error(), "data rate") {
		t.Errorf("err = %v; want the quantities there are", err)
	}
}

func text(t *testing.T, args string) string {
	t.Helper()
	outcome, err := Run(ext.Ctx{}, json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	block, ok := outcome.Content[0].(ext.TextContent)
	if !ok {
		t.Fatalf("a %T, want text", outcome.Content[0])
	}
	return block.Text
}
