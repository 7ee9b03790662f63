package satellite

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
)

// Each bomb ends within its bound, the error names it, and meanwhile the host and
// its other satellites answer.
func TestBombsEndWithinTheirBound(t *testing.T) {
	const short, long = 2 * time.Second, 5 * time.Minute
	for _, tt := range []struct {
		name, call  string
		config      Config
		deadline    time.Duration
		code, bound string
	}{
		{"heap", "heap", Config{}, long, wire.CodeCrashed, jail.BoundMemory},
		{"heap, small", "heap", Config{Limits: jail.Limits{DataBytes: jail.DataFloor + 16<<20}}, long, wire.CodeCrashed, jail.BoundMemory},
		{"mappings", "maps", Config{}, long, wire.CodeCrashed, jail.BoundMemory},
		{"threads", "threads", Config{}, long, wire.CodeCrashed, boundThreads},
		{"processor", "spin", Config{Limits: jail.Limits{CPU: time.Second}}, long, wire.CodeCrashed, jail.BoundCPU},
		{"processors", "cores", Config{Limits: jail.Limits{CPU: time.Second}}, long, wire.CodeCrashed, jail.BoundCPU},
		{"processor, by the deadline alone", "spin", Config{}, short, wire.CodeDeadline, ""},
		{"output", "babble", Config{OutputCap: 4 << 10}, short, wire.CodeDeadline, ""},
		{"frames", "flood", Config{}, long, wire.CodeProtocol, BoundFrames},
		{"effects", "caps", Config{Effects: reportOnly(func(string, string, []byte) {})}, short, wire.CodeDeadline, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			other := launch(t, Config{})
			alive(t, other)
			var over atomic.Bool
			var wg sync.WaitGroup
			wg.Go(func() {
				for !over.Load() {
					alive(t, other)
				}
			})
			s := launch(t, tt.config)
			_, err := call(s, tt.call, tt.deadline)
			over.Store(true)
			wg.Wait()
			e := failed(t, err, tt.code, "")
			if e.Bound != tt.bound {
				t.Errorf("bound %q, want %q: %s", e.Bound, tt.bound, e.Msg)
			}
			gone(t, s)
			exit, _ := s.command.Wait()
			limit := tt.config.Limits.DataBytes
			if limit == 0 {
				limit = jail.DataFloor + DefaultMemory
			}
			// The rest is the program's own text, which the limit does not count.
			if rest := int64(16 << 20); exit.ResidentBytes > limit+rest {
				t.Errorf("%d MiB resident, the limit was %d", exit.ResidentBytes>>20, limit>>20)
			}
			if n := len(s.Output()); n > jail.DefaultStderrCap+64 {
				t.Errorf("%d bytes of output were kept", n)
			}
			alive(t, other)
		})
	}
}

func TestASatelliteThatWorksAtRestIsDestroyed(t *testing.T) {
	bound := Config{idleWindow: 20 * time.Millisecond, idleCPU: 10 * time.Millisecond}
	still := launch(t, bound)
	alive(t, still)
	s := launch(t, bound)
	said(t, s, "spinafter")
	<-s.Done()
	_, err := call(s, "echo", 0)
	if e := failed(t, err, wire.CodeGone, "of processor time in 20ms in which nothing was asked of it"); e.Bound != BoundIdleCPU {
		t.Errorf("bound %q", e.Bound)
	}
	// The other one has rested through as many windows.
	alive(t, still)
}
