package jsontext_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// prose is what a model's call looks like at 64 KiB: few members, long text.
func prose() []byte {
	line := "The quick brown fox jumps over the lazy dog, \"twice\", and goes on.\n"
	text, _ := json.Marshal(map[string]string{"path": "notes/fox.md", "contents": strings.Repeat(line, 64<<10/len(line)-8)})
	return text
}

// rows is structure: short names, short strings, numbers.
func rows() []byte {
	var list []map[string]any
	for i := range 700 {
		list = append(list, map[string]any{"id": i, "name": fmt.Sprint("item ", i), "price": float64(i) * 1.25, "tags": []string{"a", "b"}, "stock": i%2 == 0})
	}
	text, _ := json.Marshal(list)
	return text
}

func BenchmarkValid(b *testing.B) {
	for _, document := range []struct {
		name string
		text []byte
	}{{"prose64KiB", prose()}, {"rows64KiB", rows()}, {"small", []byte(`{"city":"Oslo","days":3}`)}} {
		for _, way := range []struct {
			name  string
			valid func([]byte) bool
		}{{"jsontext", jsontext.Valid}, {"encoding_json", json.Valid}} {
			b.Run(document.name+"/"+way.name, func(b *testing.B) {
				b.SetBytes(int64(len(document.text)))
				b.ReportAllocs()
				for b.Loop() {
					if !way.valid(document.text) {
						b.Fatal("not valid")
					}
				}
			})
		}
	}
}
