package report_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"example.com/every/report/steps"

	"github.com/loomext/loomext/prelude/cap/captest"
)

func TestStepsAreReported(t *testing.T) {
	host := captest.New(t)
	if _, err := steps.Run(host.Ctx(), json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	if got, want := host.Partials(), []string{"step 1 of 3", "step 2 of 3", "step 3 of 3"}; !slices.Equal(got, want) {
		t.Errorf("reported %q; want %q", got, want)
	}
}

func TestStepsEndWithTheCall(t *testing.T) {
	host := captest.New(t)
	ended, cancel := context.WithCancel(host.Context())
	cancel()
	if _, err := steps.Run(host.Ctx().With(ended), json.RawMessage(`{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
