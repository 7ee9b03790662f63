package ext_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/ext"
)

// BenchmarkDecode compares the walk with encoding/json on a small call and on one
// whose argument is long text.
func BenchmarkDecode(b *testing.B) {
	type file struct {
		Path     string   `json:"path"`
		Contents string   `json:"contents"`
		Days     int      `json:"days"`
		Tags     []string `json:"tags"`
	}
	long, _ := json.Marshal(file{Path: "a", Contents: strings.Repeat("The quick brown fox, \"twice\".\n", 2000), Tags: []string{"x", "y"}})
	for _, document := range []struct {
		name string
		text []byte
	}{{"small", []byte(`{"path":"a/b","contents":"hello","days":3,"tags":["x","y"]}`)}, {"text64KiB", long}} {
		for _, way := range []struct {
			name   string
			decode func([]byte) error
		}{
			{"ext", func(raw []byte) error { _, err := ext.DecodeArgs[file](raw); return err }},
			{"encoding_json", func(raw []byte) error { var f file; return json.Unmarshal(raw, &f) }},
		} {
			b.Run(document.name+"/"+way.name, func(b *testing.B) {
				b.SetBytes(int64(len(document.text)))
				b.ReportAllocs()
				for b.Loop() {
					if err := way.decode(document.text); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
