package broker

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/manifest"
)

// host is what the origin's certificate is for.
const host = "example.com"

// origin is a real TLS server on loopback, and the configuration under which host is it.
func origin(t testing.TB, handler http.HandlerFunc) (config.Config, *httptest.Server) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	c := config.Default()
	c.Egress.Roots = []*x509.Certificate{server.Certificate()}
	c.Egress.Private = []string{host}
	c.Egress.Resolve = []config.Route{{Host: host, Port: 443, Address: netip.MustParseAddrPort(server.Listener.Addr().String())}}
	return c, server
}

func terms(n manifest.Net) Terms {
	n.Hosts = append(n.Hosts, host)
	if n.Methods == nil {
		n.Methods = []string{"GET", "POST"}
	}
	if n.MaxResponseBytes == 0 {
		n.MaxResponseBytes = manifest.DefaultMaxResponseBytes
	}
	if n.RequestsPerCall == 0 {
		n.RequestsPerCall = manifest.DefaultRequestsPerCall
	}
	return Terms{Extension: "weather", Requested: []string{"net"}, Granted: []string{"net"}, Net: &n}
}

// request is the arguments of one.
func request(method, path string) wire.Value {
	return wire.Map(arg("method", wire.String(method)), arg("url", wire.String("https://"+host+path)), arg("headers", wire.Map()), arg("body", wire.Bin(nil)))
}

func fetch(i *Invocation, path string) wire.Result {
	return i.Serve(context.Background(), "net.request", request("GET", path))
}

func TestTermsAreClampedToTheHost(t *testing.T) {
	b := newBroker(t, Options{Config: config.Config{Ceilings: config.Ceilings{MaxResponseBytes: 20 << 20, Timeout: time.Minute}}})
	for _, c := range []struct {
		asked, gets int64
		calls       int
		requests    int64
		lanes       int
		framed      bool
	}{
		{1 << 10, 1 << 10, 1, 1, 16, false},
		{8 << 20, 8 << 20, 4, 4, 8, false},
		{15 << 20, 15 << 20, maxRequests, maxRequests, 4, false},
		{16 << 20, 15 << 20, maxRequests + 1, maxRequests, 4, true},
		{1 << 53, 15 << 20, 1<<31 - 1, maxRequests, 4, true},
	} {
		n := b.network(manifest.Net{MaxResponseBytes: c.asked, RequestsPerCall: c.calls})
		if n.policy.MaxResponseBytes != c.gets || n.requests != c.requests || cap(n.lanes) != c.lanes || n.framed != c.framed {
			t.Errorf("%d bytes and %d requests: %+v with %d lanes", c.asked, c.calls, n, cap(n.lanes))
		}
	}
	small := newBroker(t, Options{Config: config.Config{Ceilings: config.Ceilings{MaxResponseBytes: 1 << 20, Timeout: time.Minute}}})
	if n := small.network(manifest.Net{MaxResponseBytes: 1 << 40, RequestsPerCall: 1}); n.policy.MaxResponseBytes != 1<<20 || n.framed {
		t.Errorf("the host's ceiling: %+v", n)
	}
}

func TestARequestGoesOutAndItsResponseComesBack(t *testing.T) {
	c, _ := origin(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Answer", "yes")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("X-Ask"), body)
	})
	i := newBroker(t, Options{Config: c}).Open(terms(manifest.Net{}), "s").Begin(nil, nil)
	v := done(t, i.Serve(t.Context(), "net.request", wire.Map(
		arg("method", wire.String("POST")), arg("url", wire.String("https://"+host+"/a/b")),
		arg("headers", wire.Map(arg("X-Ask", wire.String("really")))), arg("body", wire.Bin([]byte("the body"))),
	)))
	status, _ := mustGet(t, v, "status").AsInt()
	body, _ := mustGet(t, v, "body").AsBin()
	if status != http.StatusTeapot || string(body) != "POST /a/b really the body" {
		t.Errorf("%d %q", status, body)
	}
	headers, _ := mustGet(t, v, "headers").AsMap()
	if !slices.ContainsFunc(headers, func(f wire.Field) bool {
		text, _ := f.Value.AsString()
		return strings.EqualFold(f.Key, "X-Answer") && text == "yes"
	}) {
		t.Errorf("the headers are %v", headers)
	}
	if _, err := wire.AppendResult(nil, wire.KindCapResult, 1, wire.Result{OK: true, Value: v}); err != nil {
		t.Error(err)
	}
}

func TestWithoutTermsThereIsNoNetwork(t *testing.T) {
	i := newBroker(t, Options{}).Open(Terms{Extension: "e", Requested: []string{"net"}, Granted: []string{"net"}}, "s").Begin(nil, nil)
	refusedWith(t, fetch(i, "/"), wire.CodeNetworkOff, "without a [net] table")
}

func TestRefusalsHaveTheirCodes(t *testing.T) {
	var arrived atomic.Int64
	c, server := origin(t, func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		switch r.URL.Path {
		case "/large":
			w.Write(make([]byte, 2000))
		case "/reflect":
			io.WriteString(w, "you sent "+r.Header.Get("X-Key"))
		case "/hangup":
			panic(http.ErrAbortHandler)
		}
	})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := netip.MustParseAddrPort(closed.Addr().String())
	closed.Close()
	c.Egress.Private = append(c.Egress.Private, "gone.example.com")
	c.Egress.Resolve = append(c.Egress.Resolve, config.Route{Host: "gone.example.com", Port: 443, Address: gone},
		config.Route{Host: "private.example.com", Port: 443, Address: netip.MustParseAddrPort(server.Listener.Addr().String())})
	t.Setenv("LOOMEXT_TEST_KEY", "c4n4ry-7f3a-reflected")
	b := newBroker(t, Options{Config: c})
	secret := []manifest.Secret{{Env: "LOOMEXT_TEST_KEY", Host: host, Header: "X-Key", Format: "{}"}}
	unset := []manifest.Secret{{Env: "LOOMEXT_TEST_UNSET", Host: host, Header: "X-Key", Format: "{}"}}
	for name, c := range map[string]struct {
		net         manifest.Net
		method, url string
		code, says  string
		arrives     int64
	}{
		"a scheme":              {manifest.Net{}, "GET", "http://" + host + "/", wire.CodeNotAllowed, "https", 0},
		"a user":                {manifest.Net{}, "GET", "https://a:b@" + host + "/", wire.CodeInvalidArgument, "", 0},
		"another host":          {manifest.Net{}, "GET", "https://other.example.com/", wire.CodeNotAllowed, "other.example.com", 0},
		"another method":        {manifest.Net{}, "DELETE", "https://" + host + "/", wire.CodeNotAllowed, "DELETE", 0},
		"too much":              {manifest.Net{MaxResponseBytes: 1000}, "GET", "https://" + host + "/large", wire.CodePolicy, "1000", 1},
		"a secret back":         {manifest.Net{Secrets: secret}, "GET", "https://" + host + "/reflect", wire.CodeDenied, "LOOMEXT_TEST_KEY", 1},
		"an unset secret":       {manifest.Net{Secrets: unset}, "GET", "https://" + host + "/", wire.CodeUnavailable, "LOOMEXT_TEST_UNSET", 0},
		"nobody there":          {manifest.Net{Hosts: []string{"gone.example.com"}}, "GET", "https://gone.example.com/", wire.CodeNetFailed, "", 0},
		"a server that hung up": {manifest.Net{}, "POST", "https://" + host + "/hangup", wire.CodeNetFailed, "", 1},
		"a private address":     {manifest.Net{Hosts: []string{"private.example.com"}}, "GET", "https://private.example.com/", wire.CodeNotAllowed, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := arrived.Load()
			i := b.Open(terms(c.net), "s").Begin(nil, nil)
			r := i.Serve(t.Context(), "net.request", wire.Map(
				arg("method", wire.String(c.method)), arg("url", wire.String(c.url)), arg("headers", wire.Map()), arg("body", wire.Bin(nil))))
			refusedWith(t, r, c.code, c.says)
			if got := arrived.Load() - before; got != c.arrives {
				t.Errorf("%d requests arrived; want %d", got, c.arrives)
			}
		})
	}
}

func TestRequestsOfOneInvocationAreCountedWithTheirRedirects(t *testing.T) {
	var arrived atomic.Int64
	c, _ := origin(t, func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		if r.URL.Path == "/from" {
			http.Redirect(w, r, "/to", http.StatusFound)
		}
	})
	s := newBroker(t, Options{Config: c}).Open(terms(manifest.Net{RequestsPerCall: 3}), "s")
	first := s.Begin(nil, nil)
	done(t, fetch(first, "/from"))
	refusedWith(t, fetch(first, "/from"), wire.CodePolicy, "its 3 requests")
	refusedWith(t, fetch(first, "/"), wire.CodePolicy, "its 3 requests")
	if n := arrived.Load(); n != 3 {
		t.Errorf("%d requests arrived", n)
	}
	second := s.Begin(nil, nil) // overlaps, and has its own
	done(t, fetch(second, "/from"))
	done(t, fetch(second, "/"))
	refusedWith(t, fetch(second, "/"), wire.CodePolicy, "its 3 requests")
}

func TestAResponseFitsOneFrame(t *testing.T) {
	size := maxFramed
	c, _ := origin(t, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, size)) })
	b := newBroker(t, Options{Config: c})
	i := b.Open(terms(manifest.Net{MaxResponseBytes: 1 << 30}), "s").Begin(nil, nil)
	v := done(t, fetch(i, "/"))
	if frame, err := wire.AppendResult(nil, wire.KindCapResult, 1, wire.Result{OK: true, Value: v}); err != nil {
		t.Error(err)
	} else if _, err := wire.Decode(frame[4:], wire.Satellite); err != nil {
		t.Error(err)
	}
	size++
	refusedWith(t, fetch(i, "/"), wire.CodePolicy, "one frame of the channel, so its body has at most 15728640 bytes")
}

func TestACalledOffRequestEndsAtTheOrigin(t *testing.T) {
	arrived, ended := make(chan struct{}), make(chan struct{})
	c, _ := origin(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
	})
	b := newBroker(t, Options{Config: c})
	i := b.Open(terms(manifest.Net{MaxResponseBytes: 15 << 20, RequestsPerCall: 100}), "s").Begin(nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan wire.Result)
	get := func(ctx context.Context) { results <- i.Serve(ctx, "net.request", request("GET", "/")) }
	lanes := cap(i.scope.network.lanes)
	for range lanes { // which leaves no room for another
		go get(ctx)
		<-arrived
	}
	waiting, cancelWaiting := context.WithCancel(t.Context())
	go get(waiting)
	cancelWaiting()
	refusedWith(t, <-results, wire.CodeCancelled, "net.request")
	cancel()
	for range lanes {
		<-ended
		refusedWith(t, <-results, wire.CodeCancelled, "")
	}
	late, cancelLate := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancelLate()
	go get(late)
	select { // it may be over before the request is out
	case <-arrived:
		<-ended
		refusedWith(t, <-results, wire.CodeDeadline, "")
	case r := <-results:
		refusedWith(t, r, wire.CodeDeadline, "")
	}
}

func TestAFloodOfRequestsIsServedALaneEach(t *testing.T) {
	var now, most atomic.Int64
	c, _ := origin(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		io.WriteString(w, r.URL.Path)
		now.Add(-1)
	})
	i := newBroker(t, Options{Config: c}).Open(terms(manifest.Net{RequestsPerCall: maxRequests}), "s").Begin(nil, nil)
	var refused atomic.Int64
	var wg sync.WaitGroup
	for n := range maxRequests + 10 {
		wg.Go(func() {
			r := fetch(i, fmt.Sprint("/", n))
			if !r.OK && r.Fault.Code == wire.CodePolicy {
				refused.Add(1)
				return
			}
			body, _ := r.Value.Get("body")
			if got, _ := body.AsBin(); !r.OK || string(got) != fmt.Sprint("/", n) {
				t.Errorf("%d: %v %q", n, r.Fault, got)
			}
		})
	}
	wg.Wait()
	if refused.Load() != 10 {
		t.Errorf("%d were refused; want 10", refused.Load())
	}
	if most.Load() > maxLanes {
		t.Errorf("%d were under way at once", most.Load())
	}
}
