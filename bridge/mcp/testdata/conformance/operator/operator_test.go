package operator_test

import (
	"encoding/json"
	"testing"

	"example.com/every/operator/prompts"
	"example.com/every/operator/tools"

	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/ext"
)

func TestAWishIsHandedOver(t *testing.T) {
	for want, tool := range map[string]ext.Tool{"change-tools": tools.Run, "change-prompts": prompts.Run} {
		host := captest.New(t)
		if _, err := tool(host.Ctx(), json.RawMessage(`{}`)); err != nil {
			t.Fatal(err)
		}
		if got, err := report.StringAt(host.Calls()[0].Args, "name"); err != nil || got != want {
			t.Errorf("emitted %q, %v; want %q", got, err, want)
		}
	}
}
