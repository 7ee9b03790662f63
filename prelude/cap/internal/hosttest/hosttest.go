//go:build unix

// Package hosttest plays the host in tests: it writes and reads frames on the other
// end of a real socket pair. It judges nothing and remembers nothing.
package hosttest

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// patience is how long a test waits for a frame before it fails. Nothing here takes
// a hundredth of it.
const patience = 20 * time.Second

// Pair is the two ends of a connected socket pair, both closed with the test.
func Pair(t testing.TB) (host, satellite *os.File) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := [2]*os.File{}
	for i, fd := range fds {
		syscall.CloseOnExec(fd)
		if err := syscall.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), "pair")
		t.Cleanup(func() { f.Close() })
		ends[i] = f
	}
	return ends[0], ends[1]
}

// Host is the host's end of a channel.
type Host struct {
	T    testing.TB
	Conn *os.File
	in   *wire.Reader
}

// New plays the host on conn.
func New(t testing.TB, conn *os.File) *Host {
	return &Host{T: t, Conn: conn, in: wire.NewReader(conn, wire.Host)}
}

// Raw writes bytes as they are.
func (h *Host) Raw(b []byte) {
	h.T.Helper()
	if _, err := h.Conn.Write(b); err != nil {
		h.T.Fatal(err)
	}
}

// Ask writes a hook_call for a tool.
func (h *Host) Ask(id int64, token, name string, args wire.Value) {
	h.T.Helper()
	h.Send(id, wire.HookCall{Token: []byte(token), Kind: wire.CallTool, Name: name, Args: args, DeadlineMS: 60_000})
}

// Send writes a hook_call.
func (h *Host) Send(id int64, c wire.HookCall) {
	h.T.Helper()
	b, err := wire.AppendHookCall(nil, id, c)
	if err != nil {
		h.T.Fatal(err)
	}
	h.Raw(b)
}

// Answer writes a cap_result.
func (h *Host) Answer(id int64, r wire.Result) {
	h.T.Helper()
	b, err := wire.AppendResult(nil, wire.KindCapResult, id, r)
	if err != nil {
		h.T.Fatal(err)
	}
	h.Raw(b)
}

// Cancel writes a cancel.
func (h *Host) Cancel(id int64) {
	h.T.Helper()
	h.Raw(wire.AppendCancel(nil, id))
}

// Any is the next frame.
func (h *Host) Any() wire.Frame {
	h.T.Helper()
	h.Conn.SetReadDeadline(time.Now().Add(patience))
	f, err := h.in.Read()
	if err != nil {
		h.T.Fatalf("waiting for a frame: %v", err)
	}
	return f
}

// Next is the next frame, which must be of this kind.
func (h *Host) Next(kind wire.Kind) wire.Frame {
	h.T.Helper()
	f := h.Any()
	if f.Kind != kind {
		h.T.Fatalf("got a %s %+v; want a %s", f.Kind, f, kind)
	}
	return f
}

// Result is the result of the hook_call with this id, which must be the next frame.
func (h *Host) Result(id int64) wire.Result {
	h.T.Helper()
	f := h.Next(wire.KindHookResult)
	if f.ID != id {
		h.T.Fatalf("a result for %d; want %d", f.ID, id)
	}
	return f.Result
}

// Fault is the code and message of the failed hook_call with this id.
func (h *Host) Fault(id int64) wire.Fault {
	h.T.Helper()
	r := h.Result(id)
	if r.OK {
		h.T.Fatalf("hook_call %d succeeded with %v", id, r.Value)
	}
	return r.Fault
}
