package artifact

import (
	"testing"
	"time"
)

// BenchmarkLook is what the artifact costs that has the directory looked at, in a store of a thousand.
func BenchmarkLook(b *testing.B) {
	s := Open(b.TempDir())
	for range 1000 {
		if _, err := s.Put(chart, []byte("data")); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if err := s.makeRoom(chart.Extension, 1, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	s := Open(b.TempDir())
	s.limit.count = 1 << 30
	data := make([]byte, 64<<10)
	for b.Loop() {
		if _, err := s.Put(chart, data); err != nil {
			b.Fatal(err)
		}
	}
}
