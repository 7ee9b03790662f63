package satellite

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/loomext/loomext/internal/wire"
	"golang.org/x/sys/unix"
)

// Calls and starts stand beside their floors: the same bytes echoed over a
// net.UnixConn, and a static Go program that answers one raw frame. Compare
// them interleaved and, for a round trip, on one core.

var sizes = []int{1 << 10, 64 << 10}

func arguments(size int) wire.Value {
	return wire.Map(
		wire.Field{Key: "args", Value: wire.Text(bytes.Repeat([]byte("x"), size))},
		wire.Field{Key: "strand", Value: wire.String("")},
	)
}

func BenchmarkCall(b *testing.B) {
	for _, size := range sizes {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			s, err := Launch(context.Background(), Config{Image: image})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			args := arguments(size)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Invoke(context.Background(), Invocation{Kind: wire.CallTool, Name: "tool", Args: args}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCallFloor(b *testing.B) {
	echo := builtFor(b, "netecho")
	for _, size := range sizes {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			frame, err := wire.AppendHookCall(nil, 1, wire.HookCall{Token: make([]byte, wire.TokenLen), Kind: wire.CallTool, Name: "tool", Args: arguments(size)})
			if err != nil {
				b.Fatal(err)
			}
			ours, stop := connected(b, echo)
			defer stop()
			conn, err := net.FileConn(ours)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			back := make([]byte, len(frame))
			for b.Loop() {
				if _, err := conn.Write(frame); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(conn, back); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := Launch(context.Background(), Config{Image: image})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := call(s, "echo", 0); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		s.Close()
		b.StartTimer()
	}
}

func BenchmarkStartFloor(b *testing.B) {
	bare := builtFor(b, "bare")
	frame, answer := []byte("\x00\x00\x00\x05hello"), make([]byte, 9)
	for b.Loop() {
		ours, stop := connected(b, bare)
		if _, err := ours.Write(frame); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(ours, answer); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		stop()
		b.StartTimer()
	}
}

// connected starts a program with one end of a socket pair as descriptor 3.
func connected(b *testing.B, path string) (ours *os.File, stop func()) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	ours = os.NewFile(uintptr(pair[0]), "ours")
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	defer theirs.Close()
	cmd := exec.Command(path)
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return ours, func() { _ = ours.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() }
}

func builtFor(b *testing.B, name string) string {
	out := filepath.Join(b.TempDir(), name)
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "./testdata/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	return out
}
