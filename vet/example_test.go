package vet_test

import (
	"context"
	"fmt"

	"github.com/loomext/loomext/manifest"
	"github.com/loomext/loomext/source"
	"github.com/loomext/loomext/vet"
)

func ExampleSyntax() {
	tree, err := source.FromFiles(map[string][]byte{
		"extension.toml": []byte(`[extension]
name        = "hello"
description = "Says hello."
license     = "MIT"

[[tool]]
name           = "hello"
description    = "Says hello."
prompt_snippet = "hello: say hello"
parameters     = "schema/hello.json"
entry          = "tool"
`),
		"schema/hello.json": []byte(`{"type": "object"}`),
		"tool/hello.go": []byte(`package tool

import (
	"fmt"
	"os"

	"github.com/loomext/loomext/prelude/ext"
)

var Run = ext.Typed(func(ext.Ctx, struct{}) (ext.Outcome, error) {
	fmt.Println("hello")
	return ext.Text("hello " + os.Getenv("USER")), nil
})
`),
	}, "memory")
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := tree.File("extension.toml")
	m, err := manifest.Decode(text, tree)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = vet.Syntax(context.Background(), tree, m)
	fmt.Println(err)
	// Output:
	// vetting: tool/hello.go:5:2: import: "os": it reaches files, the environment and the process; use github.com/loomext/loomext/prelude/cap/fs, and request fs_read or fs_write; for settings, [config] and ext.Config; for secrets, [[net.secret]]
	// vetting: tool/hello.go:11:2: symbol: fmt.Println: it writes to the process's own streams, which are kept for crashes; return the text as the outcome, or report it with ctx.Report
}
