//go:build unix

package runtime_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/prelude/cap/internal/hosttest"
	"github.com/loomext/loomext/prelude/cap/runtime"
)

// process is a satellite of its own: this test binary in its other role.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	stderr bytes.Buffer
	stdout bytes.Buffer
	ended  chan struct{}
}

func start(t testing.TB, files []*os.File, env ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	p := &process{t: t, cmd: exec.CommandContext(ctx, os.Args[0]), ended: make(chan struct{})}
	p.cmd.Env = append(env, childEnv+"=satellite")
	p.cmd.ExtraFiles = files
	p.cmd.Stderr, p.cmd.Stdout = &p.stderr, &p.stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { cancel(); <-p.ended })
	return p
}

// exits checks how the process ended, and that it said one line or none.
func (p *process) exits(code int, says string) {
	p.t.Helper()
	<-p.ended
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit status %d (%v); want %d; stderr %q", got, p.cmd.ProcessState, code, p.stderr.String())
	}
	text := p.stderr.String()
	if says == "" && text != "" {
		p.t.Errorf("stderr holds %q", text)
	}
	if says != "" && (strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") || !strings.Contains(text, says)) {
		p.t.Errorf("stderr holds %q; want one line with %q", text, says)
	}
	if p.stdout.Len() > 0 {
		p.t.Errorf("stdout holds %q", p.stdout.String())
	}
}

func inherited(t *testing.T) (*hosttest.Host, *process) {
	t.Helper()
	host, satellite := hosttest.Pair(t)
	p := start(t, []*os.File{satellite}, runtime.EnvSock+"=fd:3")
	satellite.Close()
	return hosttest.New(t, host), p
}

func TestASatelliteServesAnInheritedDescriptor(t *testing.T) {
	h, p := inherited(t)
	h.Ask(1, "t", "echo", wire.Int(7))
	if n, _ := h.Result(1).Value.AsInt(); n != 7 {
		t.Errorf("got %d", n)
	}
	h.Ask(2, "t", "panic", wire.Nil())
	if f := h.Fault(2); f.Code != wire.CodeCrashed || !strings.Contains(f.Msg, "runtime_test.childAnswer") {
		t.Errorf("got %v", f)
	}
	h.Ask(3, "t", "kv", wire.Nil())
	id := h.Next(wire.KindCapCall).ID
	h.Answer(id, wire.Result{OK: true, Value: wire.Map(
		wire.Field{Key: "found", Value: wire.Bool(true)}, wire.Field{Key: "value", Value: wire.Bin([]byte("v"))})})
	if b, _ := h.Result(3).Value.AsBin(); string(b) != "v" {
		t.Errorf("got %q", b)
	}
	h.Cancel(0)
	p.exits(0, "")
}

func TestASatelliteServesAPath(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, make([]byte, 32), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, nil, runtime.EnvSock+"="+path, runtime.EnvTokenFile+"="+token)
	listener.(*net.UnixListener).SetDeadline(time.Now().Add(patience))
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	file, err := conn.(*net.UnixConn).File()
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	defer file.Close()
	if err := syscall.SetNonblock(int(file.Fd()), true); err != nil {
		t.Fatal(err)
	}
	h := hosttest.New(t, file)
	h.Ask(1, "t", "echo", wire.String("over a path"))
	if s, _ := h.Result(1).Value.AsString(); s != "over a path" {
		t.Errorf("got %q", s)
	}
	file.Close()
	p.exits(0, "")
}

func TestHowASatelliteEnds(t *testing.T) {
	t.Run("end of stream", func(t *testing.T) {
		h, p := inherited(t)
		h.Conn.Close()
		p.exits(0, "")
	})
	t.Run("cancel of zero during an invocation that hangs", func(t *testing.T) {
		h, p := inherited(t)
		h.Ask(1, "t", "hang", wire.Nil())
		h.Cancel(0)
		p.exits(0, "")
	})
	t.Run("end of stream during an invocation that waits", func(t *testing.T) {
		h, p := inherited(t)
		h.Ask(1, "t", "kv", wire.Nil())
		h.Next(wire.KindCapCall)
		h.Conn.Close()
		p.exits(0, "")
	})
	t.Run("a protocol fault", func(t *testing.T) {
		h, p := inherited(t)
		h.Raw([]byte{0xff, 0xff, 0xff, 0xff})
		p.exits(1, "satellite: channel: protocol: ")
	})
	t.Run("a fault with an evil key", func(t *testing.T) {
		h, p := inherited(t)
		h.Raw([]byte("\x00\x00\x00\x07\x81\xa4\x1b[2J\x01")) // {"\x1b[2J": 1}
		p.exits(1, "satellite: channel: protocol: ")
		if strings.ContainsAny(strings.TrimSuffix(p.stderr.String(), "\n"), "\x1b\n\r") {
			t.Errorf("stderr holds %q", p.stderr.String())
		}
	})
}

func TestAFailedBootExitsWithOneLine(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, size int) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain, err := os.Open(file("plain", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	good := func() []string { return []string{runtime.EnvSock + "=fd:3"} }
	token := func(path string) []string { return append(good(), runtime.EnvTokenFile+"="+path) }
	long := "/" + strings.Repeat("x", 300)
	for name, c := range map[string]struct {
		env  []string
		says string
	}{
		"nothing set":          {nil, "LOOM_CAP_SOCK is not set"},
		"no such path":         {[]string{runtime.EnvSock + "=" + filepath.Join(dir, "none")}, "no such file"},
		"a path too long":      {[]string{runtime.EnvSock + "=" + long}, "connect to"},
		"a plain file":         {[]string{runtime.EnvSock + "=" + file("file", 1)}, "connect to"},
		"a path with newlines": {[]string{runtime.EnvSock + "=a\n\x1b[2Jb"}, "connect to"},
		"no number":            {[]string{runtime.EnvSock + "=fd:"}, "not a descriptor"},
		"a word":               {[]string{runtime.EnvSock + "=fd:three"}, "not a descriptor"},
		"a sign":               {[]string{runtime.EnvSock + "=fd:+3"}, "not a descriptor"},
		"negative":             {[]string{runtime.EnvSock + "=fd:-1"}, "not a descriptor"},
		"a leading zero":       {[]string{runtime.EnvSock + "=fd:03"}, "not a descriptor"},
		"huge":                 {[]string{runtime.EnvSock + "=fd:99999999999999999999"}, "not a descriptor"},
		"stderr":               {[]string{runtime.EnvSock + "=fd:2"}, "standard stream"},
		"closed":               {[]string{runtime.EnvSock + "=fd:77"}, "bad file descriptor"},
		"not a socket":         {[]string{runtime.EnvSock + "=fd:4"}, "not a socket"},
		"token missing":        {token(filepath.Join(dir, "missing")), "LOOM_CAP_TOKEN_FILE"},
		"token no path":        {token(""), "LOOM_CAP_TOKEN_FILE"},
		"token a directory":    {token(dir), "LOOM_CAP_TOKEN_FILE"},
		"token empty":          {token(file("empty", 0)), "holds 0 bytes"},
		"token short":          {token(file("short", 31)), "holds 31 bytes"},
		"token long":           {token(file("long", 33)), "more than 32"},
	} {
		t.Run(name, func(t *testing.T) {
			_, satellite := hosttest.Pair(t)
			start(t, []*os.File{satellite, plain}, c.env...).exits(1, c.says)
		})
	}
}
