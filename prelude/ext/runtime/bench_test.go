package runtime_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/ext"
	"github.com/loomext/loomext/prelude/ext/runtime"
)

// BenchmarkAnswer is the dispatch of one tool call, without a channel.
func BenchmarkAnswer(b *testing.B) {
	tools := []runtime.NamedTool{{Name: "echo", Tool: func(_ ext.Ctx, raw json.RawMessage) (ext.Outcome, error) {
		return ext.Outcome{Content: []ext.Content{ext.JSONContent{Value: raw}}}, nil
	}}}
	for name, size := range map[string]int{"1KiB": 1 << 10, "64KiB": 64 << 10} {
		asked := call("echo", `{"text":"`+strings.Repeat("some text ", size/10)+`"}`)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := runtime.Answer(tools, nil, asked); !r.OK {
					b.Fatal(r)
				}
			}
		})
	}
}
