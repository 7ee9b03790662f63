package egress

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSpecialAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1": "this machine's", "127.255.255.254": "this machine's", "0.0.0.0": "this machine's", "0.1.2.3": "this machine's",
		"::": "this machine's", "::1": "this machine's",
		"10.0.0.1": "private", "172.16.0.1": "private", "172.31.255.255": "private", "192.168.1.1": "private", "fc00::1": "private", "fdff::1": "private", "fec0::1": "private",
		"169.254.1.1": "link-local", "fe80::1": "link-local", "febf::1": "link-local", "fe80::1%eth0": "link-local",
		"100.64.0.1": "shared", "100.127.255.255": "shared",
		"169.254.169.254": "metadata", "fd00:ec2::254": "metadata", "100.100.100.200": "metadata", "168.63.129.16": "metadata", "fd20:ce::254": "metadata",
		"224.0.0.1": "multicast", "239.255.255.255": "multicast", "ff02::1": "multicast",
		"255.255.255.255": "reserved", "240.0.0.1": "reserved", "198.18.0.1": "reserved", "198.19.255.255": "reserved",
		"192.0.2.1": "reserved", "198.51.100.1": "reserved", "203.0.113.1": "reserved", "192.0.0.8": "reserved", "192.88.99.1": "reserved",
		"2001:db8::1": "reserved", "3fff::1": "reserved", "2001:2::1": "reserved", "2001:10::1": "reserved", "100::1": "reserved",
		"4000::1": "reserved", "5f00::1": "reserved", "fe00::1": "reserved",
		"::ffff:127.0.0.1": "another form", "::ffff:8.8.8.8": "another form", "::8.8.8.8": "another form", "::127.0.0.1": "another form",
		"64:ff9b::7f00:1": "another form", "64:ff9b::808:808": "another form", "64:ff9b:1::a00:1": "another form",
		"2002:7f00:1::1": "another form", "2002:808:808::1": "another form", "2001:0:7f00:1::1": "another form",
		"1.1.1.1": "", "8.8.8.8": "", "100.63.255.255": "", "100.128.0.0": "", "172.32.0.1": "", "192.169.0.1": "", "11.0.0.1": "",
		"2606:4700::1111": "", "2a00:1450:4001::1": "", "2400:cb00::1": "",
	} {
		got := special(netip.MustParseAddr(text))
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

// An address that carries an IPv4 address is special whatever it carries, and one that
// net/netip knows not to be a public host's is special by our table as well.
func TestNoFormOfAnAddressIsPublicThatCarriesAnother(t *testing.T) {
	forms := []func(v4 [4]byte) netip.Addr{
		func(v [4]byte) netip.Addr { return with("::ffff:0:0", v, 12) },
		func(v [4]byte) netip.Addr { return with("::", v, 12) },
		func(v [4]byte) netip.Addr { return with("64:ff9b::", v, 12) },
		func(v [4]byte) netip.Addr { return with("64:ff9b:1::", v, 12) },
		func(v [4]byte) netip.Addr { return with("64:ff9b:1::", v, 6) },
		func(v [4]byte) netip.Addr { return with("2002::", v, 2) },
		func(v [4]byte) netip.Addr { return with("2001::", v, 4) },
		func(v [4]byte) netip.Addr {
			return with("2001::", [4]byte{v[0] ^ 255, v[1] ^ 255, v[2] ^ 255, v[3] ^ 255}, 12)
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		var v4 [4]byte
		binary.BigEndian.PutUint32(v4[:], rapid.Uint32().Draw(t, "v4"))
		for i, form := range forms {
			if a := form(v4); special(a) == "" {
				t.Errorf("form %d: %s counts as public", i, a)
			}
		}
		var v6 [16]byte
		copy(v6[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "v6"))
		for _, a := range []netip.Addr{netip.AddrFrom4(v4), netip.AddrFrom16(v6)} {
			known := !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.Is4In6()
			if known && special(a) == "" {
				t.Errorf("%s counts as public", a)
			}
			if a.Is6() && special(a) == "" && a.As16()[0]>>5 != 1 {
				t.Errorf("%s counts as public, outside of 2000::/3", a)
			}
			if special(a) != special(a.WithZone("eth0")) && a.Is6() {
				t.Errorf("a zone changes what %s is", a)
			}
		}
	})
}

// with puts an IPv4 address into an IPv6 address, at a byte.
func with(base string, v4 [4]byte, at int) netip.Addr {
	b := netip.MustParseAddr(base).As16()
	copy(b[at:], v4[:])
	return netip.AddrFrom16(b)
}

func TestASpecialAddressIsDialedForAPrivateHostAlone(t *testing.T) {
	var taken atomic.Int32
	at := listen(t, nil, func(net.Conn) { taken.Add(1) })
	o := options(at)
	o.Private = []string{other}
	c := newClient(t, o)
	e := refused(t, c, all(), get("/"), NotAllowed, host+": its address is this machine's")
	if !strings.Contains(e.Msg, "private of [egress]") || strings.Contains(e.Msg, "127.0.0.1") {
		t.Error(e.Msg)
	}
	if n := taken.Load(); n != 0 {
		t.Errorf("%d connections were opened", n)
	}

	at = serve(t, "HTTP/1.1", func(http.ResponseWriter, *http.Request) {})
	answered(t, newClient(t, options(at)), all(), get("/"))
}

// names is a DNS server whose answer for a host changes with every question.
type names struct {
	mu      sync.Mutex
	answers []netip.Addr   // one for each look-up; the last one stays
	asked   map[uint16]int // look-ups, by the kind of record
	at      net.Addr
}

func serveNames(t *testing.T, answers ...netip.Addr) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &names{answers: answers, asked: map[uint16]int{}, at: conn.LocalAddr()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 1500)
		for {
			size, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			if reply := n.reply(b[:size]); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return n
}

// reply answers a question for one record.
func (n *names) reply(query []byte) []byte {
	end := 12
	for end < len(query) && query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5
	if len(query) < end {
		return nil
	}
	kind := binary.BigEndian.Uint16(query[end-4:])
	n.mu.Lock()
	defer n.mu.Unlock()
	answer := n.answers[min(n.asked[kind], len(n.answers)-1)]
	n.asked[kind]++
	reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
	if kind == 1 != answer.Is4() || kind != 1 && kind != 28 {
		return reply // no such record
	}
	reply[7] = 1
	data := answer.AsSlice()
	reply = append(reply, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(data)))
	return append(reply, data...)
}

// resolver asks n for every name.
func (n *names) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", n.at.String())
	}}
}

// The first look-up answers an address that is public and that nobody has, the next ones
// loopback: whichever is dialed is judged.
func TestRebindingIsRefused(t *testing.T) {
	n := serveNames(t, netip.MustParseAddr("2f00::1"), netip.MustParseAddr("127.0.0.1"))
	c := newClient(t, Options{})
	c.resolver = n.resolver()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := c.Do(ctx, all(), get("/")); err == nil || err.(*Error).Kind == NotAllowed {
		t.Errorf("a public address: %v", err) // there is no way to it, or no answer from it
	}
	refused(t, c, all(), get("/"), NotAllowed, host+": its address is this machine's")
	n.mu.Lock()
	if n.asked[1] < 2 {
		t.Errorf("%d look-ups", n.asked[1])
	}
	n.mu.Unlock()
	for _, address := range []string{"10.1.2.3", "169.254.169.254", "100.64.1.1", "::1", "fd00:ec2::254", "64:ff9b::7f00:1", "::ffff:127.0.0.1"} {
		n := serveNames(t, netip.MustParseAddr(address))
		c := newClient(t, Options{})
		c.resolver = n.resolver()
		refused(t, c, all(), get("/"), NotAllowed, "no public host's")
	}
}

// What the socket connects to is what the check is given: the family of calls that
// dials has no other place where an address could change.
func TestTheCheckSitsOnTheSocket(t *testing.T) {
	var seen []string
	at := listen(t, nil, func(net.Conn) {})
	dialer := net.Dialer{ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		seen = append(seen, address)
		return nil
	}}
	conn, err := dialer.DialContext(t.Context(), "tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if !slices.Equal(seen, []string{conn.RemoteAddr().String()}) {
		t.Errorf("the check was given %q for a connection to %s", seen, conn.RemoteAddr())
	}
}

func TestALookUpThatFailsIsAFailure(t *testing.T) {
	n := serveNames(t, netip.MustParseAddr("127.0.0.1"))
	c := newClient(t, Options{})
	c.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := n.resolver().Dial(ctx, "", "")
		return noName{conn}, err
	}}
	refused(t, c, all(), get("/"), Failed, host+": there is no such host")
}

// noName turns every answer into that there is no such name.
type noName struct{ net.Conn }

func (c noName) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 12 {
		p[3] = p[3]&0xf0 | 3
		p[7] = 0
	}
	return n, err
}

// ReadFrom makes it a packet connection, which the resolver looks for.
func (c noName) ReadFrom(p []byte) (int, net.Addr, error) {
	n, err := c.Read(p)
	return n, c.RemoteAddr(), err
}

// WriteTo is its other half.
func (c noName) WriteTo(p []byte, _ net.Addr) (int, error) { return c.Write(p) }
func (c noName) Close() error                              { return c.Conn.Close() }

func TestThisMachinesOwnAddressesAreRefusedHoweverPublic(t *testing.T) {
	own, err := net.InterfaceAddrs()
	if err != nil || len(own) == 0 {
		t.Fatalf("no addresses: %v", err)
	}
	for _, one := range own {
		prefix, err := netip.ParsePrefix(one.String())
		if err != nil {
			continue
		}
		for _, a := range []netip.Addr{prefix.Addr(), netip.AddrFrom16(prefix.Addr().As16())} {
			if !isOwn(a) {
				t.Errorf("%s is not taken for this machine's", a)
			}
			if err := checkAddress(host, netip.AddrPortFrom(a, 443).String()); err == nil {
				t.Errorf("%s may be dialed", a)
			}
		}
	}
	if isOwn(netip.MustParseAddr("93.184.215.14")) {
		t.Error("a public host's address is taken for this machine's")
	}
}
