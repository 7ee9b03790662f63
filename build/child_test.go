package build

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"github.com/loomext/loomext/jail"
)

// childVariable makes the test binary one build in a process of its own: for another user, another umask, or to be killed.
const childVariable = "LOOMEXT_BUILD_TEST_CHILD"

// withoutNamespaces makes the test binary forbid itself further namespaces, as some systems do to all programs.
const withoutNamespaces = "LOOMEXT_BUILD_TEST_WITHOUT_NAMESPACES"

// forbidNamespaces sets a limit of the user namespace that the process is in, so it has to be in one of its own.
func forbidNamespaces() error {
	return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0o644)
}

// order is what a child is asked to do.
type order struct {
	Cache string
	Go    string
	Umask int
	Tree  tree
	// BestEffort accepts walls that are missing.
	BestEffort bool
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
	a, err := (&Builder{Cache: o.Cache, Go: o.Go, Jail: jail.Options{BestEffort: o.BestEffort}}).Build(context.Background(), root, want)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		return 2
	}
	return 0
}
