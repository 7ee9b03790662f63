package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestWhatIsSentIsWhatWasJudged(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			var got *http.Request
			var body string
			at := serve(t, version, func(w http.ResponseWriter, r *http.Request) {
				text, _ := io.ReadAll(r.Body)
				got, body = r, string(text)
				w.Header().Add("X-Many", "a")
				w.Header().Add("X-Many", "b")
				w.Header().Set("Set-Cookie", "a=b")
				w.Header().Set("X-Odd", "caf\xe9")
				w.WriteHeader(http.StatusTeapot)
				fmt.Fprint(w, "short and stout")
			})
			c := newClient(t, options(at))
			r := Request{
				Method: "POST", URL: "https://" + host + ":443/a%2Fb//c;d?x[y]=%20z|&",
				Headers: map[string]string{"x-lower": "1", "Content-Type": "text/plain", "Cookie": "a=b; c=d"}, Body: []byte("hello"),
			}
			response := answered(t, c, all(), r)
			if got.Proto != version || got.Method != "POST" || got.RequestURI != "/a%2Fb//c;d?x[y]=%20z|&" || got.Host != host || body != "hello" {
				t.Errorf("got %s %s %s of %s with %q", got.Proto, got.Method, got.RequestURI, got.Host, body)
			}
			want := map[string]string{"X-Lower": "1", "Content-Type": "text/plain", "Cookie": "a=b; c=d", "User-Agent": userAgent, "Accept-Encoding": "gzip", "Content-Length": "5"}
			sent := map[string]string{}
			for name, values := range got.Header {
				sent[name] = strings.Join(values, "; ")
			}
			if !maps.Equal(sent, want) {
				t.Errorf("got %v, want %v", sent, want)
			}
			delete(response.Headers, "Date")
			if response.Status != 418 || string(response.Body) != "short and stout" || !maps.Equal(response.Headers, map[string]string{
				"X-Many": "a, b", "X-Odd": "caf\uFFFD", "Content-Length": "15", "Content-Type": "text/plain; charset=utf-8",
			}) {
				t.Errorf("got %d %q %v", response.Status, response.Body, response.Headers)
			}
		})
	}
}

func TestEveryMethodThatWasApprovedIsSent(t *testing.T) {
	for _, version := range versions {
		at := serve(t, version, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Method", r.Method) })
		c := newClient(t, options(at))
		for _, method := range methods {
			r := Request{Method: method, URL: get("/").URL}
			if response := answered(t, c, all(), r); response.Headers["X-Method"] != method {
				t.Errorf("%s arrived as %s", method, response.Headers["X-Method"])
			}
		}
	}
}

func TestWhatThePolicyWouldNeverPermitOpensNothing(t *testing.T) {
	at := serve(t, "HTTP/1.1", unasked(t))
	o := options(at)
	o.Secret = func(context.Context, string) (Secret, error) {
		t.Error("a secret was read")
		return Secret{}, nil
	}
	c := newClient(t, o)
	p := all()
	p.Methods = []string{"GET", "POST", "TRACE", "CONNECT", "OPTIONS", "get", ""}
	p.Secrets = []Credential{{Env: "KEY", Host: host, Header: "X-Key", Format: "{}"}}
	p.Spend = func() error { t.Error("a request was spent"); return nil }
	for name, test := range map[string]struct {
		request Request
		kind    Kind
		piece   string
	}{
		"host":        {Request{Method: "GET", URL: "https://" + other + "/"}, NotAllowed, "url: the host"},
		"address":     {Request{Method: "GET", URL: "https://127.0.0.1/"}, NotAllowed, "address"},
		"scheme":      {Request{Method: "GET", URL: "http://" + host + "/"}, NotAllowed, "scheme"},
		"port":        {Request{Method: "GET", URL: "https://" + host + ":8443/"}, NotAllowed, "port"},
		"method":      {Request{Method: "DELETE", URL: get("/").URL}, NotAllowed, `method: "DELETE"`},
		"case":        {Request{Method: "Get", URL: get("/").URL}, NotAllowed, "method"},
		"lower case":  {Request{Method: "get", URL: get("/").URL}, NotAllowed, "method"},
		"no method":   {Request{URL: get("/").URL}, NotAllowed, "method"},
		"trace":       {Request{Method: "TRACE", URL: get("/").URL}, NotAllowed, "method"},
		"connect":     {Request{Method: "CONNECT", URL: get("/").URL}, NotAllowed, "method"},
		"two lines":   {Request{Method: "GET / HTTP/1.1\r\nX: y\r\n\r\nGET", URL: get("/").URL}, NotAllowed, "method"},
		"body of GET": {Request{Method: "GET", URL: get("/").URL, Body: []byte("x")}, Invalid, "body"},
		"large body":  {Request{Method: "POST", URL: get("/").URL, Body: make([]byte, maxRequestBody+1)}, Invalid, "body"},
		"header":      {Request{Method: "GET", URL: get("/").URL, Headers: map[string]string{"host": other}}, NotAllowed, `"host"`},
		"secret":      {Request{Method: "GET", URL: get("/").URL, Headers: map[string]string{"x-KEY": "mine"}}, NotAllowed, "KEY"},
		"range":       {Request{Method: "GET", URL: get("/").URL, Headers: map[string]string{"range": "bytes=0-3"}}, NotAllowed, "Range"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c, p, test.request, test.kind, test.piece) })
	}
	refused(t, c, Policy{}, get("/"), NotAllowed, "url")
}

func TestSpendIsAskedForEachRequestAndItsErrorIsACeiling(t *testing.T) {
	at := serve(t, "HTTP/1.1", func(http.ResponseWriter, *http.Request) {})
	c := newClient(t, options(at))
	left := 2
	p := all()
	p.Spend = func() error {
		if left == 0 {
			return errors.New("this call has made its 2 requests")
		}
		left--
		return nil
	}
	answered(t, c, p, get("/"))
	answered(t, c, p, get("/"))
	refused(t, c, p, get("/"), Ceiling, "this call has made its 2 requests")
}

func TestProxyVariablesChangeNothing(t *testing.T) {
	proxy := listen(t, nil, func(net.Conn) { t.Error("the proxy of the environment was used") })
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://"+proxy.String())
	}
	t.Setenv("NO_PROXY", "")
	at := serve(t, "HTTP/1.1", func(http.ResponseWriter, *http.Request) {})
	answered(t, newClient(t, options(at)), all(), get("/"))
}

func TestAContextThatHasEndedOpensNothing(t *testing.T) {
	c := newClient(t, options(serve(t, "HTTP/1.1", unasked(t))))
	p := all()
	p.Spend = func() error { t.Error("a request was spent"); return nil }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	refusedIn(t, ctx, c, p, get("/"), Cancelled, "gave up")
	ctx, cancel = context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	refusedIn(t, ctx, c, p, get("/"), Deadline, "deadline")
}

func TestARequestHasFifteenSecondsUnderTheDeadlineOfItsContext(t *testing.T) {
	at := serve(t, "HTTP/1.1", func(http.ResponseWriter, *http.Request) {})
	o := options(at)
	var left time.Duration
	o.Secret = func(ctx context.Context, _ string) (Secret, error) {
		end, _ := ctx.Deadline()
		left = time.Until(end)
		return NewSecret([]byte("some secret value"))
	}
	p := all()
	p.Secrets = []Credential{{Env: "KEY", Host: host, Header: "X-Key", Format: "{}"}}
	answered(t, newClient(t, o), p, get("/"))
	if left > RequestTime || left < RequestTime/2 {
		t.Errorf("%s are left at the start", left)
	}
	if e := over(t.Context(), host); e.Kind != Deadline || !strings.Contains(e.Msg, "within 15s") {
		t.Error(e)
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			arrived := make(chan struct{})
			at := serve(t, version, func(_ http.ResponseWriter, r *http.Request) {
				close(arrived)
				<-r.Context().Done()
			})
			c, err := New(options(at))
			if err != nil {
				t.Fatal(err)
			}
			var asking sync.WaitGroup
			asking.Go(func() { refused(t, c, all(), get("/"), Cancelled, "the client was closed") })
			<-arrived
			c.Close()
			c.Close()
			asking.Wait()
			refused(t, c, all(), get("/"), Cancelled, "the client was closed")
		})
	}
}

func TestAConnectionIsKeptForItsOwnHostAlone(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			var mu sync.Mutex
			from := map[string][]string{}
			at := serve(t, version, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				from[r.Host] = append(from[r.Host], r.RemoteAddr)
				fmt.Fprint(w, "a body")
			})
			c := newClient(t, options(at))
			p := all()
			p.Hosts = []string{host, other}
			for range 4 {
				answered(t, c, p, get("/"))
				answered(t, c, p, Request{Method: "GET", URL: "https://" + other + "/"})
			}
			for _, at := range from {
				if slices.Sort(at); at[0] != at[len(at)-1] {
					t.Errorf("one host was asked from %v", at)
				}
			}
			if from[host][0] == from[other][0] {
				t.Error("two hosts were asked over one connection")
			}
		})
	}
}

func TestManyAtOnce(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			at := serve(t, version, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				_, _ = w.Write(body)
			})
			c := newClient(t, options(at))
			var asking sync.WaitGroup
			for i := range 40 {
				asking.Go(func() {
					body := strings.Repeat(fmt.Sprint(i), 10_000)
					response, err := c.Do(t.Context(), all(), Request{Method: "POST", URL: get("/").URL, Body: []byte(body)})
					if err != nil || string(response.Body) != body {
						t.Errorf("%d: %v", i, err)
					}
				})
			}
			asking.Wait()
		})
	}
}

func TestOptionsThatCannotBeMeantAreRefused(t *testing.T) {
	at := netip.MustParseAddrPort("127.0.0.1:1")
	parsed := func(s string) *url.URL {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for name, o := range map[string]Options{
		"private":       {Private: []string{"A.example"}},
		"route's host":  {Resolve: []Route{{"127.0.0.1", 443, at}}},
		"route's port":  {Resolve: []Route{{host, 8443, at}}},
		"no address":    {Resolve: []Route{{Host: host, Port: 443}}},
		"twice":         {Resolve: []Route{{host, 443, at}, {host, 443, at}}},
		"http proxy":    {Proxy: parsed("http://proxy.example:3128")},
		"proxy's user":  {Proxy: parsed("https://user:canary@proxy.example:3128")},
		"proxy nowhere": {Proxy: parsed("https:///")},
	} {
		_, err := New(o)
		var e *Error
		if !errors.As(err, &e) || e.Kind != Invalid || strings.Contains(e.Msg, "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADialEndsWithItsCall(t *testing.T) {
	var taken, left atomic.Int32
	at := listen(t, nil, func(conn net.Conn) { // and never a word of TLS
		taken.Add(1)
		_, _ = io.Copy(io.Discard, conn)
		left.Add(1)
	})
	c, p := newClient(t, options(at)), all()
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		before := taken.Load()
		go func() {
			for taken.Load() == before {
				runtime.Gosched()
			}
			cancel()
		}()
		if _, err := c.Do(ctx, p, get("/")); err == nil {
			t.Fatal("it answered")
		}
		cancel()
	}
	for end := time.Now().Add(10 * time.Second); left.Load() != taken.Load(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d connections of calls that were given up, and %d are closed", taken.Load(), left.Load())
		}
	}
}

func TestARequestIsNotSentAgainAndAgain(t *testing.T) {
	var got atomic.Int32
	at := serveWire(t, func(conn net.Conn) { // answers once, and then takes a request and hangs up
		defer conn.Close()
		for n := 0; ; n++ {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
				return
			}
			if got.Add(1); n > 0 {
				return
			}
			if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
				return
			}
		}
	})
	c, p := newClient(t, options(at)), all()
	spent := 0
	p.Spend = func() error { spent++; return nil }
	for range 6 {
		_, _ = c.Do(t.Context(), p, get("/"))
	}
	if n := int(got.Load()); n > maxTries*spent {
		t.Errorf("%d requests arrived for %d that were spent", n, spent)
	}
}
