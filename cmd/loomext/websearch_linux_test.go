package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	searchHost = "api.search.brave.com"
	// canary is the key. It has what percent-encoding and base64 change.
	canary = "BSA+canary/9f2c51d07e&1b=key"
)

// origin stands for Brave, on loopback with TLS and a root of its own.
type origin struct {
	*httptest.Server
	roots       []byte // PEM
	connections atomic.Int64

	mu     sync.Mutex
	answer http.HandlerFunc
	asked  []*http.Request
}

func newOrigin(t *testing.T, hosts ...string) *origin {
	t.Helper()
	o := &origin{}
	certificate, roots := certified(t, hosts)
	o.roots = roots
	o.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		o.asked = append(o.asked, r)
		answer := o.answer
		o.mu.Unlock()
		answer(w, r)
	}))
	o.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	o.EnableHTTP2 = true
	o.Config.ErrorLog = log.New(io.Discard, "", 0)
	o.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			o.connections.Add(1)
		}
	}
	o.StartTLS()
	t.Cleanup(o.Close)
	return o
}

// certified is a certificate for hosts and the root that signed it.
func certified(t *testing.T, hosts []string) (tls.Certificate, []byte) {
	t.Helper()
	sign := func(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) ([]byte, *ecdsa.PrivateKey) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if signer == nil {
			signer = key
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		return der, key
	}
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a root for a test"}, NotBefore: from, NotAfter: to,
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	rootDER, rootKey := sign(root, root, nil)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: hosts[0]}, NotBefore: from, NotAfter: to, DNSNames: hosts,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, key := sign(leaf, root, rootKey)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER})
}

// serve sets what the origin answers, and forgets what it was asked.
func (o *origin) serve(answer http.HandlerFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answer, o.asked = answer, nil
	o.connections.Store(0)
}

func (o *origin) requests() []*http.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.asked
}

// searching is a store with websearch installed and an origin in Brave's place.
type searching struct {
	world
	origin *origin
}

func newSearching(t *testing.T) searching {
	w := newWorld(t, sharedCache)
	w.must("install", "../../examples/websearch", "--yes")
	o := newOrigin(t, searchHost, "elsewhere.test")
	_, port, err := net.SplitHostPort(o.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("[egress]\nroots = [\"root.pem\"]\nresolve = [\"%s:443:127.0.0.1:%s\", \"elsewhere.test:443:127.0.0.1:%s\"]\nprivate = [\"%s\", \"elsewhere.test\"]\n",
		searchHost, port, port, searchHost)
	for name, text := range map[string]string{"root.pem": string(o.roots), "config.toml": config} {
		if err := os.WriteFile(filepath.Join(w.home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return searching{w, o}
}

// search calls the tool as an operator does, with a key where it is not empty.
func (s searching) search(key string) (stdout, stderr string, status int) {
	var out, errs bytes.Buffer
	cmd := s.command("call", "websearch", "web_search", "--args", `{"query": "gopher burrow", "count": 2}`)
	cmd.Env = append(cmd.Env, "BRAVE_API_KEY="+key)
	cmd.Stdout, cmd.Stderr = &out, &errs
	status = exitCode(cmd.Run())
	return out.String(), errs.String(), status
}

// spellings are the ways in which the key could be written somewhere.
func spellings() []string {
	quoted, _ := json.Marshal(canary)
	return []string{
		canary, string(quoted[1 : len(quoted)-1]), url.QueryEscape(canary), url.PathEscape(canary), base64.StdEncoding.EncodeToString([]byte(canary)),
		base64.RawURLEncoding.EncodeToString([]byte(canary)), hex.EncodeToString([]byte(canary)), canary[:12], canary[12:],
	}
}

// mustLack wants the key nowhere in a text.
func mustLack(t *testing.T, where string, text []byte) {
	t.Helper()
	for _, spelling := range spellings() {
		if bytes.Contains(text, []byte(spelling)) {
			t.Errorf("%s holds the key as %s", where, spelling)
		}
	}
}

// keptNowhere wants the key in no file of the home and in nothing that was printed.
func (s searching) keptNowhere(t *testing.T, printed ...string) {
	t.Helper()
	for _, text := range printed {
		mustLack(t, "what was printed", []byte(text))
	}
	files := 0
	err := filepath.WalkDir(s.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		files++
		mustLack(t, path, text)
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("looked at %d files: %v", files, err)
	}
}

const found = `{"web": {"results": [
	{"title": "<strong>Gophers</strong>", "url": "https://one.example/", "description": "A <b>gopher&#x27;s</b> burrow"},
	{"title": "Digging", "url": "https://two.example/", "description": ""},
	{"title": "One too many", "url": "https://three.example/", "description": ""}]}}`

func TestWebsearchThroughTheWholeOfIt(t *testing.T) {
	s := newSearching(t)
	t.Run("a search", func(t *testing.T) {
		s.origin.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, found) })
		stdout, stderr, status := s.search(canary)
		const want = "1. Gophers\n   https://one.example/\n   A gopher's burrow\n\n2. Digging\n   https://two.example/\n" +
			`{"query":"gopher burrow","results":[{"title":"Gophers","url":"https://one.example/","description":"A gopher's burrow"},` +
			`{"title":"Digging","url":"https://two.example/","description":""}]}` + "\n"
		if status != 0 || stdout != want {
			t.Errorf("status %d\n%s%s", status, stdout, stderr)
		}
		if !strings.Contains(stderr, "  searching the web for gopher burrow\n") {
			t.Errorf("no report in %q", stderr)
		}
		asked := s.origin.requests()
		if len(asked) != 1 {
			t.Fatalf("%d requests", len(asked))
		}
		r := asked[0]
		if r.Method != "GET" || r.Host != searchHost || r.URL.Path != "/res/v1/web/search" || r.URL.Query().Get("q") != "gopher burrow" || r.URL.Query().Get("count") != "2" {
			t.Errorf("%s https://%s%s", r.Method, r.Host, r.URL)
		}
		if got := r.Header["X-Subscription-Token"]; len(got) != 1 || got[0] != canary {
			t.Errorf("the origin saw the key %q", got)
		}
		s.keptNowhere(t, stdout, stderr)
	})
	t.Run("a key from a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(canary+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(s.home, "config.toml")
		config, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "%s\n[secrets]\nBRAVE_API_KEY = { file = %q }\n", config, file), 0o600); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.WriteFile(path, config, 0o600) }()
		s.origin.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, found) })
		stdout, stderr, status := s.search("another")
		if asked := s.origin.requests(); status != 0 || len(asked) != 1 || asked[0].Header.Get("X-Subscription-Token") != canary {
			t.Errorf("status %d, %d requests\n%s", status, len(asked), stderr)
		}
		s.keptNowhere(t, stdout, stderr)
	})
	for name, reflected := range map[string]string{
		"as it is": canary, "in base64": base64.StdEncoding.EncodeToString([]byte("key: " + canary)), "percent-encoded": url.QueryEscape(canary),
	} {
		t.Run("an origin that gives the key back "+name, func(t *testing.T) {
			s.origin.serve(func(w http.ResponseWriter, _ *http.Request) {
				_ = json.NewEncoder(w).Encode(map[string]any{"web": map[string]any{"results": []any{map[string]any{"title": reflected, "url": "https://one.example/"}}}})
			})
			stdout, stderr, status := s.search(canary)
			if status != statusRefused || stdout != "" || !strings.Contains(stderr, "the host does not let this request through: ") || !strings.Contains(stderr, "BRAVE_API_KEY") {
				t.Errorf("status %d\n%s%s", status, stdout, stderr)
			}
			s.keptNowhere(t, stdout, stderr)
		})
	}
	t.Run("no key", func(t *testing.T) {
		s.origin.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, found) })
		stdout, stderr, status := s.search("")
		if status != statusRefused || stdout != "" || !strings.Contains(stderr, "this host cannot search: ") || !strings.Contains(stderr, "BRAVE_API_KEY") {
			t.Errorf("status %d\n%s%s", status, stdout, stderr)
		}
		if n := s.origin.connections.Load(); n != 0 {
			t.Errorf("%d connections were made", n)
		}
	})
	for name, location := range map[string]string{
		"another host that could be reached": "https://elsewhere.test/", "the same host in the clear": "http://" + searchHost + "/", "the key in the address": "https://elsewhere.test/?k=" + url.QueryEscape(canary),
	} {
		t.Run("a redirect to "+name, func(t *testing.T) {
			s.origin.serve(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, location, http.StatusFound) })
			stdout, stderr, status := s.search(canary)
			if status != statusRefused || stdout != "" || !strings.Contains(stderr, "the host does not let this request through: ") {
				t.Errorf("status %d\n%s%s", status, stdout, stderr)
			}
			if n := len(s.origin.requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
			s.keptNowhere(t, stdout, stderr)
		})
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"a limit": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-RateLimit-Remaining", "0, 1000")
			w.Header().Set("X-RateLimit-Reset", "1, 1419704")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"type": "ErrorResponse", "error": {"code": "RATE_LIMITED", "detail": "Request rate limit exceeded"}}`)
		}, "takes no more searches now (status 429: Request rate limit exceeded). Search again in 1 s"},
		"a key that is refused": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
			"refuses the key (status 401: no reason given). Whoever runs this host sees to BRAVE_API_KEY"},
		"a response without end": {func(w http.ResponseWriter, r *http.Request) {
			for block := bytes.Repeat([]byte(" "), 64<<10); r.Context().Err() == nil; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, "If its answer was too large, ask for fewer results with count"},
		"a redirect without end": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.String(), http.StatusFound) },
			"this invocation has made its 2 requests, redirects included; make fewer, or raise requests_per_call in [net]. If its answer was too large, ask for fewer results with count; if not, go on without a search"},
		"an origin that hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"cannot be reached, and was tried twice: "},
	} {
		t.Run(name, func(t *testing.T) {
			s.origin.serve(tt.answer)
			stdout, stderr, status := s.search(canary)
			if status != statusRefused || stdout != "" || !strings.Contains(stderr, tt.want) {
				t.Errorf("status %d\n%s%s", status, stdout, stderr)
			}
			s.keptNowhere(t, stdout, stderr)
		})
	}
	assertNothingLeft(t, s.home)
}

// While its request is under way, the satellite has no word of the key.
func TestTheKeyIsNotInTheJail(t *testing.T) {
	s := newSearching(t)
	arrived, release := make(chan struct{}), make(chan struct{})
	s.origin.serve(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		_, _ = io.WriteString(w, found)
	})
	cmd := s.command("call", "websearch", "web_search", "--args", `{"query": "gopher burrow"}`)
	cmd.Env = append(cmd.Env, "BRAVE_API_KEY="+canary)
	var out watched
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-arrived:
	case <-time.After(patience):
		t.Errorf("no request arrived: %s", out.String())
	}
	satellites := childrenOf(cmd.Process.Pid)
	if len(satellites) == 0 {
		t.Error("no satellite is seen")
	}
	for _, pid := range satellites {
		for _, file := range []string{"environ", "cmdline"} {
			path := fmt.Sprintf("/proc/%d/%s", pid, file)
			if text, err := os.ReadFile(path); err == nil { // else the kernel keeps us out
				mustLack(t, path, text)
			}
		}
		if memory := memoryOf(pid); len(memory) > 0 {
			mustLack(t, fmt.Sprintf("the memory of process %d", pid), memory)
			if !bytes.Contains(memory, []byte("gopher+burrow")) {
				t.Errorf("the memory of process %d has no word of its request either, so it was not looked at", pid)
			}
		}
	}
	close(release)
	if status := exitCode(cmd.Wait()); status != 0 {
		t.Errorf("status %d: %s", status, out.String())
	}
}

// memoryOf is what a process can write to, as far as the kernel lets us read it.
func memoryOf(pid int) []byte {
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return nil
	}
	defer mem.Close()
	var all []byte
	for line := range strings.Lines(string(maps)) {
		var from, to int64
		var access string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &from, &to, &access); err != nil || !strings.HasPrefix(access, "rw") {
			continue
		}
		// What was never written is not there, and the end of a region may be missing.
		block := make([]byte, to-from)
		n, _ := mem.ReadAt(block, from)
		all = append(all, block[:n]...)
	}
	return all
}
