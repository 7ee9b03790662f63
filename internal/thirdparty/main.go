package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// The one argument is the root of this repository; the tree is replaced whole.
func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: thirdparty <repository>")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(repository string) error {
	files, err := Collect(context.Background(), repository)
	if err != nil {
		return err
	}
	target := filepath.Join(repository, "third_party", "_src")
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	for name, data := range files {
		file := filepath.Join(target, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
