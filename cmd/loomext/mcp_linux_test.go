package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/internal/livetest"
)

// mcpProcess is a client that speaks to a server line by line, and sees every byte of it.
type mcpProcess struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr watched
}

func (w world) mcp(args ...string) *mcpProcess {
	w.t.Helper()
	p := &mcpProcess{t: w.t, cmd: w.command(append([]string{"mcp"}, args...)...)}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	p.out, p.cmd.Stderr = bufio.NewReader(out), &p.stderr
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	p.await(1)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

func (p *mcpProcess) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *mcpProcess) call(id int, tool, arguments string) {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":%d}}}`, id, tool, arguments, id))
}

// await gives the answer of a request. Every line is a message of the protocol.
func (p *mcpProcess) await(id int) string {
	p.t.Helper()
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			p.t.Fatalf("no answer to %d: %v; stderr:\n%s", id, err, p.stderr.String())
		}
		var message struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Method  string          `json:"method"`
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil || message.JSONRPC != "2.0" {
			p.t.Fatalf("standard output has a line that is no message: %q", line)
		}
		if string(message.ID) == fmt.Sprint(id) && message.Method == "" {
			return line
		}
	}
}

// rest reads to the end of standard output, every line of which is a message.
func (p *mcpProcess) rest() {
	for {
		line, err := p.out.ReadString('\n')
		if line != "" && !json.Valid([]byte(line)) {
			p.t.Errorf("standard output has a line that is no message: %q", line)
		}
		if err != nil {
			return
		}
	}
}

func TestNoSatelliteOutlivesTheServer(t *testing.T) {
	w := newWorld(t, sharedCache)
	w.must("install", filepath.Join(w.ext, "demo"), "--yes")
	for _, tt := range []struct {
		name   string
		end    func(p *mcpProcess)
		status int
	}{
		{"the client closes its side", func(p *mcpProcess) { _ = p.in.Close() }, 0},
		{"SIGINT", func(p *mcpProcess) { _ = p.cmd.Process.Signal(syscall.SIGINT) }, 0},
		{"SIGTERM", func(p *mcpProcess) { _ = p.cmd.Process.Signal(syscall.SIGTERM) }, 0},
		{"SIGKILL", func(p *mcpProcess) { _ = p.cmd.Process.Kill() }, -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := w.mcp()
			p.call(2, "faults", `{"how":"spin"}`)
			eventually(t, "a satellite", func() bool { return len(childrenOf(p.cmd.Process.Pid)) > 0 })
			tt.end(p)
			p.rest()
			if got := exitCode(p.cmd.Wait()); got != tt.status {
				t.Errorf("status %d, want %d; stderr:\n%s", got, tt.status, p.stderr.String())
			}
			eventually(t, "the end of every satellite", func() bool { return len(childrenOf(os.Getpid())) == 0 })
			assertNothingLeft(t, w.home)
		})
	}
}

// A client that goes without a word takes both its sides with it.
func TestAClientThatDiesEndsTheServer(t *testing.T) {
	w := newWorld(t, sharedCache)
	w.must("install", filepath.Join(w.ext, "demo"), "--yes")
	in, client, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := w.command("mcp", "--warm")
	cmd.Stdin, cmd.Stdout = in, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`+"\n")
	from.Close()
	client.Close()
	if got := exitCode(cmd.Wait()); got != 0 {
		t.Errorf("status %d", got)
	}
	assertNothingLeft(t, w.home)
}

func TestStandardOutputHasTheProtocolAlone(t *testing.T) {
	w := newWorld(t, sharedCache)
	w.must("install", filepath.Join(w.ext, "demo"), "--yes")
	p := w.mcp("--only", "demo")
	p.call(2, "faults", `{"how":"panic"}`)
	if got := p.await(2); !strings.Contains(got, `"isError":true`) {
		t.Errorf("a panic: %s", got)
	}
	p.call(3, "faults", `{"how":"die"}`) // with a trace on its standard error
	if got := p.await(3); !strings.Contains(got, `"isError":true`) {
		t.Errorf("a death: %s", got)
	}
	p.call(4, "say", `{"name":"Ada\u001b[31m","as":"control"}`)
	p.await(4)
	p.send(`no message`)
	p.call(5, "say", `{"name":"Ada"}`)
	if got := p.await(5); !strings.Contains(got, "hello, Ada") {
		t.Errorf("after all that: %s", got)
	}
	_ = p.in.Close()
	p.rest()
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if p.stderr.String() != "" {
		t.Errorf("stderr: %s", p.stderr.String())
	}
}

func TestARemovalUnderAServerIsNoFault(t *testing.T) {
	w := newWorld(t, sharedCache)
	w.must("install", filepath.Join(w.ext, "demo"), "--yes")
	p := w.mcp()
	p.call(2, "say", `{"name":"Ada"}`)
	if got := p.await(2); !strings.Contains(got, "hello, Ada") {
		t.Fatal(got)
	}
	w.must("remove", "demo")
	id := 2
	eventually(t, "the end of its tools", func() bool {
		id++
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id))
		return !strings.Contains(p.await(id), `"say"`)
	})
	p.call(id+1, "say", `{"name":"Ada"}`)
	p.await(id + 1)
	_ = p.in.Close()
	p.rest()
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if said := p.stderr.String(); strings.Contains(said, "refused") || strings.Contains(said, "broken") {
		t.Errorf("stderr: %s", said)
	}
}

func init() { programs["loomext-apart"] = apart }

// apart is a program of the tests: it takes standard output as the server does, and then prints
// by every way there is.
func apart() {
	own, err := takeStdout()
	if err != nil {
		panic(err)
	}
	fmt.Println("by the variable")
	_, _ = syscall.Write(1, []byte("by the descriptor\n"))
	child := exec.Command("/bin/sh", "-c", "echo by a child")
	child.Stdout = os.Stdout
	if err := child.Run(); err != nil {
		panic(err)
	}
	_, _ = io.WriteString(own, "the protocol\n")
}

func TestWhatIsPrintedGoesToStandardError(t *testing.T) {
	adopt(t)
	var out, stderr strings.Builder
	cmd := exec.Command("loomext-apart")
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if got := out.String(); got != "the protocol\n" {
		t.Errorf("standard output: %q", got)
	}
	if got := stderr.String(); got != "by the variable\nby the descriptor\nby a child\n" {
		t.Errorf("standard error: %q", got)
	}
}

func TestAPersonIsToldWhatTheServerSpeaks(t *testing.T) {
	w := newWorld(t, sharedCache)
	const endOfInput = "\x04"
	status, seen := w.on(newTerminal(t), []reply{{"mcp --print-config claude|codex|gemini|vscode", endOfInput}}, "mcp")
	if status != 0 || !strings.Contains(seen, "Model Context Protocol") {
		t.Errorf("status %d: %q", status, seen)
	}
}

// bearer sends a token with every request.
type bearer struct {
	token string
	under *http.Transport
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.under.RoundTrip(r)
}

func TestClientsConnectOverHTTP(t *testing.T) {
	w := newWorld(t, sharedCache)
	w.must("install", filepath.Join(w.ext, "demo"), "--yes")
	const lasting = "a-token-that-lasts-0123456789"
	w.env = append(w.env, "LOOMEXT_TEST_TOKEN="+lasting)
	for _, tt := range []struct {
		name  string
		args  []string
		token func(said string) string
	}{
		{"with a token of the run", nil, func(said string) string {
			found := regexp.MustCompile(`Authorization: Bearer ([A-Z0-9]{20,})\n`).FindStringSubmatch(said)
			if found == nil || strings.Count(said, found[1]) != 1 {
				return ""
			}
			return found[1]
		}},
		{"with a token of the environment", []string{"--token-env", "LOOMEXT_TEST_TOKEN"}, func(said string) string {
			if strings.Contains(said, lasting) {
				return ""
			}
			return lasting
		}},
		{"without", []string{"--no-token"}, func(said string) string {
			if !strings.Contains(said, "no token is asked for") {
				return ""
			}
			return "none"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, stderr watched
			cmd := w.command(append([]string{"mcp", "--http", "0"}, tt.args...)...)
			cmd.Stdout, cmd.Stderr = &out, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the address and the token", func() bool { return strings.Count(stderr.String(), "\n") >= 2 })
			said := stderr.String()
			url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`).FindString(said)
			token := tt.token(said)
			if url == "" || token == "" {
				t.Fatalf("stderr: %s", said)
			}
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
			session, err := client.Connect(context.Background(), &sdk.StreamableClientTransport{
				Endpoint: url, HTTPClient: &http.Client{Transport: bearer{token, transport}}, MaxRetries: -1,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			result, err := session.CallTool(context.Background(), &sdk.CallToolParams{Name: "say", Arguments: map[string]any{"name": "Ada"}})
			if err != nil || result.IsError {
				t.Errorf("%v %v", result, err)
			}
			_ = session.Close()
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if got := exitCode(cmd.Wait()); got != 0 {
				t.Errorf("status %d; stderr:\n%s", got, stderr.String())
			}
			if out.String() != "" {
				t.Errorf("standard output: %q", out.String())
			}
			livetest.Eventually(t, "the end of every satellite", func() bool { return len(childrenOf(os.Getpid())) == 0 })
			assertNothingLeft(t, w.home)
		})
	}
}
