package egress

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// RequestTime is what one call of Do has, secrets and redirects included, under the
	// context's own deadline.
	RequestTime = 15 * time.Second

	// maxIdle and maxIdleHost are how many connections are kept open for further
	// requests: some for each of several hosts in use.
	maxIdle     = 64
	maxIdleHost = 8
	// idleTime is how long they are. Servers close after a minute or so.
	idleTime = 60 * time.Second
	// maxHead is the size of a response's status line and headers, in bytes, and of each
	// interim response's.
	maxHead = 64 << 10
	// maxBody is the most of MaxResponseBytes, in bytes, so that what is reckoned with it
	// stays a number. Nothing that is held in memory is larger.
	maxBody = 1 << 40
	// pingAfter and pingTime notice that an HTTP/2 connection is dead within a request's
	// time, so that the next one does not wait on it as well.
	pingAfter = 8 * time.Second
	pingTime  = 4 * time.Second
)

// Options are the operator's part.
type Options struct {
	Roots   []*x509.Certificate // trusted beside the system's
	Resolve []Route
	Private []string // hosts whose address may be loopback, private or otherwise special
	Proxy   *url.URL // https; nil: none. Never taken from the environment
	// Secret reads a secret by the name of its variable. It is asked for each request,
	// before anything is opened. The text of its error reaches the requester, so it must
	// not repeat the value. Nil: every secret is unset.
	Secret func(ctx context.Context, name string) (Secret, error)
}

// Route is where a host and port are, in place of what a look-up would say. The
// address is judged like any other. Port is 443: no URL has another.
type Route struct {
	Host    string
	Port    uint16
	Address netip.AddrPort
}

// Policy is what one request may do. The zero Policy permits nothing.
type Policy struct {
	Hosts, Methods   []string // exact
	MaxResponseBytes int64    // of a body, decompressed; and about that of a compressed one
	Secrets          []Credential
	// Spend is asked before each request that leaves, redirects included, and before
	// its secrets are read. Its error ends the call as a Ceiling with its text. A request
	// that is sent once more, because a kept connection was dead, is one. Nil: no ceiling.
	Spend func() error
}

// Credential is a secret by name: every request to Host carries its value in Header,
// put into Format where {} is. No request may set Header itself.
type Credential struct{ Env, Host, Header, Format string }

// Request is what an extension asks for. Body is nil or empty for GET and HEAD.
type Request struct {
	Method, URL string
	Headers     map[string]string
	Body        []byte // at most 8 MiB
}

// Response is what the host said, whatever its status. The names of Headers are in
// canonical spelling (Content-Type); several values are joined with ", ". Set-Cookie,
// what belongs to the connection, and trailers are left out. Invalid UTF-8 is replaced.
type Response struct {
	Status  int
	Headers map[string]string
	Body    []byte
}

// Client makes requests and keeps connections open between them. Its methods may be
// called by many goroutines.
type Client struct {
	roots     *x509.CertPool // nil: the system's
	routes    map[string]netip.AddrPort
	private   []string
	proxy     string // host:port, or empty
	secret    func(ctx context.Context, name string) (Secret, error)
	resolver  *net.Resolver // nil outside of tests
	transport *http.Transport

	life    context.Context // ends with Close
	end     context.CancelFunc
	mu      sync.Mutex // guards closed, and running against Close
	closed  bool
	running sync.WaitGroup // requests and dials
}

// New makes a client. Its owner closes it.
func New(o Options) (*Client, error) {
	c := &Client{routes: map[string]netip.AddrPort{}, private: slices.Clone(o.Private), secret: o.Secret}
	for _, host := range o.Private {
		if err := readHost(host); err != nil {
			return nil, errorf(Invalid, "private: %s is no host name; write one in lower case", quote(host))
		}
	}
	for _, r := range o.Resolve {
		_, twice := c.routes[r.Host]
		switch {
		case readHost(r.Host) != nil:
			return nil, errorf(Invalid, "resolve: %s is no host name; write one in lower case", quote(r.Host))
		case r.Port != 443:
			return nil, errorf(Invalid, "resolve: %s is routed for port %d, which no URL has; write %s", quote(r.Host), r.Port, port)
		case !r.Address.IsValid() || r.Address.Port() == 0:
			return nil, errorf(Invalid, "resolve: %s is routed to no address and port; write both", quote(r.Host))
		case twice:
			return nil, errorf(Invalid, "resolve: %s is routed twice; keep one address", quote(r.Host))
		}
		c.routes[r.Host] = r.Address
	}
	if strings.Contains(os.Getenv("GODEBUG"), "http2debug=") {
		return nil, errorf(Invalid, "GODEBUG has http2debug, which prints every header, secrets included; take it out of the environment")
	}
	if o.Proxy != nil {
		if o.Proxy.Scheme != scheme || o.Proxy.Hostname() == "" || o.Proxy.User != nil {
			return nil, errorf(Invalid, "proxy: it must be an https URL with a host and without a user; write one like https://proxy.example.com:3128")
		}
		at := o.Proxy.Port()
		if at == "" {
			at = port
		}
		c.proxy = net.JoinHostPort(o.Proxy.Hostname(), at)
	}
	if len(o.Roots) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, errorf(Invalid, "roots: the system's trusted roots cannot be read; install them")
		}
		for _, root := range o.Roots {
			pool.AddCert(root)
		}
		c.roots = pool
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.transport = &http.Transport{
		Proxy:                  nil, // dial has it
		DialTLSContext:         c.dial,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // both sides are counted here
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdleHost,
		IdleConnTimeout:        idleTime,
		MaxResponseHeaderBytes: maxHead,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTime},
	}
	return c, nil
}

// Do makes one request and reads the whole response. The error is an *[Error]. A
// status of 404 or 500 is a response.
func (c *Client) Do(ctx context.Context, p Policy, r Request) (Response, error) {
	if !c.enter() {
		return Response{}, errClosed
	}
	defer c.running.Done()
	p.MaxResponseBytes = min(p.MaxResponseBytes, maxBody)
	response, err := c.do(ctx, &p, &r)
	if err != nil {
		return Response{}, err
	}
	return response, nil
}

// enter says that something runs which Close waits for.
func (c *Client) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Add(1)
	return true
}

// Close ends the requests that are under way as Cancelled, waits for them and closes
// the connections. Calling it again is harmless.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.running.Wait()
	c.transport.CloseIdleConnections()
}
