package build

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
)

// childVariable makes the test binary one build in a process of its own: for another user, another umask, or to be killed.
const childVariable = "LOOMEXT_BUILD_TEST_CHILD"

// order is what a child is asked to do.
type order struct {
	Cache string
	Go    string
	Umask int
	Tree  tree
}

// child builds what it was ordered to and prints the artifact as JSON.
func child() int {
	var o order
	if err := json.Unmarshal([]byte(os.Getenv(childVariable)), &o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	syscall.Umask(o.Umask)
	root, want, err := rootOf(o.Tree)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	a, err := (&Builder{Cache: o.Cache, Go: o.Go}).Build(context.Background(), root, want)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		return 2
	}
	return 0
}
