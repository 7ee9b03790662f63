package cap_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/kv"
)

func TestCodeOfReadsTheTree(t *testing.T) {
	refused := &cap.Error{Code: cap.CodePolicy, Msg: "full"}
	var none *cap.Error
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"no error":              {nil, ""},
		"another error":         {errors.New("denied: not one"), ""},
		"a context's":           {context.Canceled, ""},
		"the error":             {refused, cap.CodePolicy},
		"in a package's error":  {&kv.Error{Op: "set", Key: "k", Err: refused}, cap.CodePolicy},
		"wrapped by the author": {fmt.Errorf("remembering: %w", &kv.Error{Err: refused}), cap.CodePolicy},
		"joined":                {errors.Join(errors.New("x"), refused), cap.CodePolicy},
		"a nil one":             {none, ""},
		"a later host's":        {&cap.Error{Code: "of_tomorrow"}, "of_tomorrow"},
	} {
		if got := cap.CodeOf(c.err); got != c.want {
			t.Errorf("%s: %q; want %q", name, got, c.want)
		}
	}
}

func TestCodeOfACallWhoseCallerGaveUp(t *testing.T) {
	host := captest.New(t)
	ctx, cancel := context.WithCancel(host.Context())
	cancel()
	if _, _, err := kv.Get(ctx, "k"); cap.CodeOf(err) != cap.CodeCancelled || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	host.End()
	if _, _, err := kv.Get(host.Context(), "k"); cap.CodeOf(err) != cap.CodeUnauthorized {
		t.Errorf("after the answer: %v", err)
	}
}

func ExampleCodeOf() {
	host := captest.Open() // a test has captest.New(t)
	defer host.End()
	host.Refuse("kv.set", cap.CodeTooLarge, "value has 300000 bytes; at most 262144")

	err := kv.Set(host.Context(), "page", make([]byte, 300_000))
	switch cap.CodeOf(err) {
	case "":
		fmt.Println("kept")
	case cap.CodeTooLarge, cap.CodePolicy:
		fmt.Println("not kept, and nothing depends on it")
	default:
		fmt.Println(err)
	}
	// Output: not kept, and nothing depends on it
}
