package clock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/clock"
)

// greeting depends on the time, and so on the context of its invocation.
func greeting(ctx context.Context) (string, error) {
	now, err := clock.Now(ctx)
	if err != nil {
		return "", err
	}
	if now.Hour() < 12 {
		return "good morning", nil
	}
	return "good day", nil
}

func Example() {
	host := captest.Open() // a test has captest.New(t)
	defer host.End()
	host.Handle("clock.now", func(captest.Call) (captest.Value, error) {
		return captest.Time(time.Date(2026, 3, 1, 8, 30, 0, 0, time.UTC)), nil
	})

	fmt.Println(greeting(host.Context()))
	// Output: good morning <nil>
}
