//go:build unix

package runtime_test

import (
	"io"
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/loomext/loomext/prelude/cap/kv"
	"github.com/loomext/loomext/prelude/cap/report"
	"github.com/loomext/loomext/prelude/cap/runtime"
)

// childEnv makes this test binary play a child process instead of running tests.
const childEnv = "LOOMEXT_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "satellite":
		runtime.Serve(childAnswer)
	case "echo":
		echoChild()
	}
	goleak.VerifyTestMain(m)
}

// childAnswer is the extension of the child satellite.
func childAnswer(a runtime.Asked) runtime.Answer {
	switch a.Invocation.Name {
	case "panic":
		panic("in the child")
	case "hang":
		select {}
	case "kv":
		v, _, err := kv.Get(a.Context(), "k")
		if err != nil {
			return runtime.Failed("refused", err.Error())
		}
		return runtime.Answered(report.Bytes(v))
	}
	return runtime.Answered(a.Args)
}

// echoChild sends back what comes on descriptor 3: the least a round trip can cost.
func echoChild() {
	conn, err := net.FileConn(os.NewFile(3, "channel"))
	if err != nil {
		os.Exit(1)
	}
	if err := echoTo(conn); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func echoTo(conn net.Conn) error {
	buf := make([]byte, 1<<20)
	for {
		n, err := conn.Read(buf)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := conn.Write(buf[:n]); err != nil {
			return err
		}
	}
}
