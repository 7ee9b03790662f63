package proc_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/proc"
)

// vet runs the one command that the manifest names.
func vet(ctx context.Context) (string, error) {
	result, err := proc.Run(ctx, proc.Command{Argv: []string{"go", "vet", "./..."}, Timeout: time.Minute})
	if err != nil {
		return "", err // it did not run
	}
	if result.Exit != 0 {
		return string(result.Stderr), nil
	}
	return "no findings", nil
}

// todos counts the lines with a TODO.
func todos(ctx context.Context, path string) (string, error) {
	result, err := proc.Run(ctx, proc.Command{Argv: []string{"grep", "-c", "TODO", path}})
	if err != nil {
		return "", err
	}
	if result.Exit > 1 { // 1 is that there are none
		return "", errors.New(string(result.Stderr))
	}
	return string(result.Stdout), nil
}

func Example_todos() {
	host := captest.Open()
	defer host.End()
	host.Handle("proc.run", func(captest.Call) (captest.Value, error) {
		return captest.Exited(2, "", "grep: main.go: No such file or directory"), nil
	})

	fmt.Println(todos(host.Context(), "main.go"))
	// Output:  grep: main.go: No such file or directory
}

func Example() {
	host := captest.Open() // a test has captest.New(t)
	defer host.End()
	host.Handle("proc.run", func(captest.Call) (captest.Value, error) {
		return captest.Exited(1, "", "main.go:3: unreachable code"), nil
	})

	fmt.Println(vet(host.Context()))
	// Output: main.go:3: unreachable code <nil>
}
