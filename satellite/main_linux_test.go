package satellite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/livetest"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
	"go.uber.org/goleak"
)

// program is built from testdata, once per run, and sealed.
var (
	program string
	image   *jail.Image
)

func TestMain(m *testing.M) {
	jail.Main()
	if role := os.Getenv(hostVariable); role != "" {
		os.Exit(actAsHost(role))
	}
	dir, err := os.MkdirTemp("", "satellite-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(dir, "satellite")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./testdata/satellite")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the satellite: %v\n%s", err, text)
		os.Exit(1)
	}
	image, err = sealedNow(program)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = image.Close()
	_ = os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// sealedNow seals a program by the digest it has at this moment.
func sealedNow(path string) (*jail.Image, error) {
	digest, err := digestNow(path)
	if err != nil {
		return nil, err
	}
	return jail.Seal(path, digest)
}

func digestNow(path string) (string, error) {
	data, err := os.ReadFile(path)
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]), err
}

// launch starts the test satellite; its end is checked when the test ends.
func launch(t *testing.T, c Config) *Satellite {
	t.Helper()
	if c.Artifact == "" && c.Image == nil {
		c.Image = image
	}
	s, err := Launch(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if livetest.Running(s.PID()) {
			t.Errorf("process %d lives on", s.PID())
		}
		if n := len(s.effects); n != 0 || s.charged != 0 {
			t.Errorf("%d effects and %d bytes are left", n, s.charged)
		}
	})
	return s
}

func call(s *Satellite, name string, deadline time.Duration) (wire.Value, error) {
	return s.Invoke(context.Background(), Invocation{Kind: wire.CallTool, Name: name, Deadline: deadline})
}

// said is a call whose answer is text.
func said(t *testing.T, s *Satellite, name string) string {
	t.Helper()
	v, err := call(s, name, 0)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text, ok := v.AsString()
	if !ok {
		t.Fatalf("%s: %v is no text", name, v.Type())
	}
	return text
}

// failed checks an error's code and a piece of its message.
func failed(t *testing.T, err error, code, piece string) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%v, want code %s", err, code)
	}
	if e.Code != code || !strings.Contains(e.Msg, piece) {
		t.Errorf("%v, want code %s and %q", err, code, piece)
	}
	return e
}

// alive says that the satellite still answers.
func alive(t *testing.T, s *Satellite) {
	t.Helper()
	if _, err := call(s, "echo", 0); err != nil {
		t.Errorf("the satellite no longer answers: %v", err)
	}
}

// gone says that it does not, and that its process has ended.
func gone(t *testing.T, s *Satellite) {
	t.Helper()
	<-s.Done()
	if livetest.Running(s.PID()) {
		t.Errorf("process %d lives on", s.PID())
	}
	_, err := call(s, "echo", 0)
	failed(t, err, wire.CodeGone, "")
}

// reportOnly serves report.emit through a function and answers unavailable to
// everything else. The data aliases a frame: it may be kept, not changed.
func reportOnly(emit func(name, contentType string, data []byte)) Effects {
	var count atomic.Int64
	return func(ctx context.Context, call CapCall) wire.Result {
		if call.Cap != capReport {
			return noEffects(ctx, call)
		}
		name, nameOK := text(call.Args, "name")
		contentType, typeOK := text(call.Args, "content_type")
		raw, _ := call.Args.Get("bytes")
		data, dataOK := raw.AsBin()
		if !nameOK || !typeOK || !dataOK {
			return Failed(wire.CodeInvalidArgument, "report.emit takes name: str, content_type: str, bytes: bin")
		}
		emit(name, contentType, data)
		id := "report-" + strconv.FormatInt(count.Add(1), 10)
		return wire.Result{OK: true, Value: wire.Map(wire.Field{Key: "id", Value: wire.String(id)})}
	}
}

func text(args wire.Value, key string) (string, bool) {
	v, ok := args.Get(key)
	if !ok {
		return "", false
	}
	return v.AsString()
}
