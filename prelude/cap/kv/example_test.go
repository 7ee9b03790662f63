package kv_test

import (
	"context"
	"fmt"
	"strconv"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/kv"
)

// visit counts how often it was called in this session.
func visit(ctx context.Context) (int, error) {
	value, found, err := kv.Get(ctx, "visits")
	if err != nil {
		return 0, err
	}
	count := 0
	if found {
		count, _ = strconv.Atoi(string(value))
	}
	count++
	err = kv.Set(ctx, "visits", []byte(strconv.Itoa(count)))
	if cap.CodeOf(err) == cap.CodePolicy { // the scratch is full, and counting is not worth a failure
		return count, nil
	}
	return count, err
}

func Example() {
	host := captest.Open() // a test has captest.New(t)
	defer host.End()
	host.Handle("kv.get", func(captest.Call) (captest.Value, error) { return captest.Found([]byte("41")), nil })
	host.Handle("kv.set", func(captest.Call) (captest.Value, error) { return captest.Done(), nil })
	fmt.Println(visit(host.Context()))

	host.Refuse("kv.set", cap.CodePolicy, "the scratch would hold more than 4 MiB; delete some of it")
	fmt.Println(visit(host.Context()))
	// Output:
	// 42 <nil>
	// 42 <nil>
}
