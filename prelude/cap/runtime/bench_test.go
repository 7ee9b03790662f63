//go:build unix

package runtime_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap/internal/hosttest"
	"github.com/loomext/loomext/prelude/cap/runtime"
)

// BenchmarkRoundTrip is a question with its answer against the same bytes echoed, in
// one process and with a child. Pin it to one core for the figure that counts:
// taskset -c 1 go test -bench RoundTrip -cpu 1. Each iteration does one of both, so
// that whatever the machine does meets both alike; "ratio" is theirs.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		frame := question(b, size)
		b.Run(fmt.Sprintf("child/%dKiB", size>>10), func(b *testing.B) {
			floor, loop := child(b, "echo"), child(b, "satellite")
			compare(b, frame, floor, loop)
		})
		b.Run(fmt.Sprintf("inside/%dKiB", size>>10), func(b *testing.B) {
			compare(b, frame, insideEcho(b), insideLoop(b))
		})
		b.Run(fmt.Sprintf("child/%dKiB/floor over floor", size>>10), func(b *testing.B) {
			compare(b, frame, child(b, "echo"), child(b, "echo"))
		})
	}
}

// BenchmarkLoop is a whole question without a socket: reading it, opening and closing
// its invocation, and writing the answer.
func BenchmarkLoop(b *testing.B) {
	s := &selfHost{frame: question(b, 1<<10), ready: make(chan struct{}, 1), left: b.N}
	s.ready <- struct{}{}
	b.ReportAllocs()
	if err := runtime.Loop(context.Background(), s, echo); err != nil {
		b.Fatal(err)
	}
}

// selfHost is a transport that asks again as soon as it is answered.
type selfHost struct {
	frame []byte
	ready chan struct{}
	left  int
}

func (s *selfHost) Read(b []byte) (int, error) {
	<-s.ready
	return copy(b, s.frame), nil
}

func (s *selfHost) Write(b []byte) (int, error) {
	if s.left--; s.left <= 0 {
		s.frame = wire.AppendCancel(nil, 0)
	}
	s.ready <- struct{}{}
	return len(b), nil
}

func (s *selfHost) Close() error { return nil }

// insideEcho is the floor in this process, so that processor time covers both ends.
func insideEcho(b *testing.B) io.ReadWriter {
	host, other := hosttest.Pair(b)
	conn, err := net.FileConn(other)
	if err != nil {
		b.Fatal(err)
	}
	go echoTo(conn)
	b.Cleanup(func() { host.Close(); other.Close(); conn.Close() })
	return host
}

func insideLoop(b *testing.B) io.ReadWriter {
	host, satellite := hosttest.Pair(b)
	ended := make(chan error, 1)
	go func() { ended <- runtime.Loop(context.Background(), satellite, echo) }()
	b.Cleanup(func() { host.Close(); <-ended })
	return host
}

func question(b *testing.B, size int) []byte {
	args := wire.Map(
		wire.Field{Key: "args", Value: wire.String(`{"text":"` + strings.Repeat("x", size-11) + `"}`)},
		wire.Field{Key: "strand", Value: wire.String("main")},
	)
	frame, err := wire.AppendHookCall(nil, 1, wire.HookCall{Token: make([]byte, wire.TokenLen), Kind: "tool", Name: "x", Args: args, DeadlineMS: 60_000})
	if err != nil {
		b.Fatal(err)
	}
	return frame
}

// child starts this binary as an echo or a satellite and returns a connection to it.
func child(b *testing.B, role string) io.ReadWriter {
	host, other := hosttest.Pair(b)
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{childEnv + "=" + role, runtime.EnvSock + "=fd:3", fmt.Sprint("GOMAXPROCS=", goruntime.GOMAXPROCS(0))}
	cmd.ExtraFiles = []*os.File{other}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	other.Close()
	b.Cleanup(func() {
		host.Close()
		cmd.Wait()
	})
	conn, err := net.FileConn(host)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return conn
}

func compare(b *testing.B, frame []byte, floor, loop io.ReadWriter) {
	buf := make([]byte, 1<<20)
	for range 100 {
		exchange(b, floor, frame, buf)
		exchange(b, loop, frame, buf)
	}
	var spent, worked [2]time.Duration
	const batch = 50
	for b.Loop() {
		for i, conn := range []io.ReadWriter{floor, loop} {
			start, begun := time.Now(), processorTime(b)
			for range batch {
				exchange(b, conn, frame, buf)
			}
			spent[i] += time.Since(start)
			worked[i] += processorTime(b) - begun
		}
	}
	n := float64(b.N) * batch
	b.ReportMetric(float64(spent[0].Nanoseconds())/n, "floor-ns")
	b.ReportMetric(float64(spent[1].Nanoseconds())/n, "loop-ns")
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "ratio")
	if _, inside := loop.(*os.File); inside {
		b.ReportMetric(float64(worked[0].Nanoseconds())/n, "floor-cpu-ns")
		b.ReportMetric(float64(worked[1].Nanoseconds())/n, "loop-cpu-ns")
		b.ReportMetric(float64(worked[1])/float64(worked[0]), "cpu-ratio")
	}
	b.ReportMetric(0, "ns/op")
}

// exchange writes a frame and reads one of nearly the same size back.
func exchange(b *testing.B, conn io.ReadWriter, frame, buf []byte) {
	if _, err := conn.Write(frame); err != nil {
		b.Fatal(err)
	}
	n, err := io.ReadAtLeast(conn, buf, 4)
	if err != nil {
		b.Fatal(err)
	}
	whole := int(buf[0])<<24 | int(buf[1])<<16 | int(buf[2])<<8 | int(buf[3])
	if _, err := io.ReadFull(conn, buf[n:4+whole]); err != nil {
		b.Fatal(err)
	}
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
