package ext_test

import (
	"encoding/json"
	"fmt"

	"github.com/loomext/loomext/prelude/ext"
)

// Run is what a tool's entry package exports.
var Run = ext.Typed(func(ctx ext.Ctx, q query) (ext.Outcome, error) {
	if q.Days > 7 {
		return ext.Outcome{}, ext.Refuse("days is %d; ask for at most 7", q.Days)
	}
	ctx.Report("looking up " + q.City)
	return ext.JSON(map[string]any{"city": q.City, "sky": "clear"})
})

type query struct {
	City string `json:"city"`
	Days int    `json:"days"`
}

// A tool is a function: a test calls it with a Ctx of its own, or the zero Ctx.
func ExampleTyped() {
	ctx := ext.Ctx{Strand: "main", Report: func(text string) { fmt.Println("partial:", text) }}
	outcome, err := Run(ctx, json.RawMessage(`{"city": "Oslo", "days": 3.0}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", outcome.Content[0].(ext.JSONContent).Value)
	// Output:
	// partial: looking up Oslo
	// {"city":"Oslo","sky":"clear"}
}

// A refusal is text that the model reads and repairs.
func ExampleRefuse() {
	_, err := Run(ext.Ctx{}, json.RawMessage(`{"city": "Oslo", "days": 30}`))
	fmt.Println(err)
	// Output: days is 30; ask for at most 7
}

// Every field that does not fit is named.
func ExampleDecodeArgs() {
	type order struct {
		Items []query `json:"items"`
		Note  string  `json:"note"`
	}
	_, err := ext.DecodeArgs[order](json.RawMessage(`{"items": [{"days": "3"}, {"days": 1.5}], "note": null}`))
	fmt.Println(err)
	// Output: arguments: .items[0].days: expected integer, got string; .items[1].days: expected integer, got 1.5; .note: expected string, got null
}

// A plain Tool reads its arguments itself and may answer with several blocks.
func ExampleTool() {
	var echo ext.Tool = func(_ ext.Ctx, args json.RawMessage) (ext.Outcome, error) {
		return ext.Outcome{
			Content:   []ext.Content{ext.TextContent{Text: "you said"}, ext.JSONContent{Value: args}},
			Terminate: ext.TerminateRun,
		}, nil
	}
	outcome, _ := echo(ext.Ctx{}, json.RawMessage(`{"n": 1e3}`))
	fmt.Println(len(outcome.Content), outcome.Terminate)
	// Output: 2 TerminateRun
}
