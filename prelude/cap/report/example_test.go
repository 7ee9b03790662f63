package report_test

import (
	"context"
	"fmt"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/report"
)

// table hands over a table for somebody to open, or gives it in place where nobody keeps it.
func table(ctx context.Context, csv string) (string, error) {
	report.Partial(ctx, "writing the table")
	id, err := report.Emit(ctx, "table.csv", "text/csv", []byte(csv))
	switch cap.CodeOf(err) {
	case "":
		return "the table is the artifact " + id, err
	case cap.CodeUnavailable, cap.CodePolicy:
		return csv, nil
	default:
		return "", err
	}
}

func Example() {
	host := captest.Open() // a test has captest.New(t)
	defer host.End()
	fmt.Println(table(host.Context(), "a,b"))
	fmt.Println(host.Partials())

	host.Refuse("report.emit", cap.CodeUnavailable, "this host keeps no artifacts")
	fmt.Println(table(host.Context(), "a,b"))
	// Output:
	// the table is the artifact r1 <nil>
	// [writing the table]
	// a,b <nil>
}
