package egress

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// logged is what the standard logger was given.
func logged(t *testing.T) *lockedBuffer {
	b := &lockedBuffer{}
	before := log.Writer()
	log.SetOutput(b)
	t.Cleanup(func() { log.SetOutput(before) })
	return b
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// What an origin sends after its response belongs to nothing. net/http would write it
// to the standard logger.
func TestWhatAnOriginSendsUnaskedIsNeitherLoggedNorAnAnswer(t *testing.T) {
	for name, response := range map[string]string{
		"length":     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"nothing":    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"no content": "HTTP/1.1 204 No Content\r\n\r\n",
		"chunks":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"trailer":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n",
		"interim":    "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"line ends":  "HTTP/1.1 200 OK\nContent-Length: 5\n\n\r\n\r\nk",
		"at once":    "",
	} {
		t.Run(name, func(t *testing.T) {
			text := logged(t)
			unasked := "canary: HTTP/1.1 200 OK\r\nX: canary\r\nContent-Length: 6\r\n\r\ncanary"
			var taken, left atomic.Int32
			at := serveWire(t, func(c net.Conn) {
				taken.Add(1)
				defer left.Add(1)
				if response == "" {
					fmt.Fprint(c, unasked)
				} else {
					head(c)
					fmt.Fprint(c, response+unasked) // in one record
				}
				_, _ = io.Copy(io.Discard, c)
			})
			c := newClient(t, options(at))
			for i := range 3 {
				got, err := c.Do(t.Context(), all(), get("/"))
				switch {
				case response == "":
					if err == nil || strings.Contains(err.Error(), "canary") { // it may just pass for an answer that is no HTTP
						t.Errorf("got %q, %v", got.Body, err)
					}
				case err != nil || strings.Contains(string(got.Body), "canary"):
					t.Errorf("request %d: got %q, %v", i, got.Body, err)
				}
			}
			c.Close()
			if text := text.String(); text != "" {
				t.Errorf("the logger was given %q", text)
			}
			if n := taken.Load(); response != "" && n != 3 {
				t.Errorf("%d connections were opened for 3 requests", n)
			}
		})
	}
}

func TestWhatAnOriginSendsLaterIsNotLogged(t *testing.T) {
	text := logged(t)
	send, sent := make(chan struct{}), make(chan struct{})
	at := serveWire(t, func(c net.Conn) {
		head(c)
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		<-send
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ncanary")
		_, _ = io.Copy(io.Discard, c) // until the client ends the connection
		close(sent)
	})
	c := newClient(t, options(at))
	answered(t, c, all(), get("/"))
	close(send)
	<-sent
	c.Close()
	if text := text.String(); text != "" {
		t.Errorf("the logger was given %q", text)
	}
}

func TestAHEADWithABodyDoesNotAnswerTheNextRequest(t *testing.T) {
	at := serveWire(t, func(c net.Conn) {
		head(c)
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 47\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ncanary")
		head(c)
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	c := newClient(t, options(at))
	for range 20 {
		answered(t, c, all(), Request{Method: "HEAD", URL: get("/").URL})
		if response := answered(t, c, all(), Request{Method: "HEAD", URL: get("/").URL}); response.Headers["Content-Length"] != "47" {
			t.Fatalf("a HEAD was answered with %v", response.Headers)
		}
	}
}

// One origin sees keep-alive as net/http alone would do it.
func TestAConnectionIsKeptAfterEveryKindOfResponse(t *testing.T) {
	var taken atomic.Int32
	answers := []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 4\n\n\n\n\n\n",
		"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 5\r\n\r\nmoved",
		"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("\r\n", 50_000),
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n" + strings.Repeat("\r\n", 50_000) + "\r\n0\r\nX: y\r\n\r\n",
	}
	at := serveWire(t, func(c net.Conn) {
		taken.Add(1)
		for i := 0; head(c) != ""; i++ {
			fmt.Fprint(c, answers[i%len(answers)])
		}
	})
	c := newClient(t, options(at))
	for range 3 * (len(answers) - 1) {
		answered(t, c, all(), get("/"))
	}
	if n := taken.Load(); n != 1 {
		t.Errorf("%d connections were opened", n)
	}
}

func TestADeadConnectionIsReplaced(t *testing.T) {
	var taken atomic.Int32
	at := serveWire(t, func(c net.Conn) {
		taken.Add(1)
		head(c)
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	c := newClient(t, options(at))
	for range 10 {
		answered(t, c, all(), get("/"))
	}
	if n := taken.Load(); n < 2 {
		t.Errorf("%d connections were opened", n)
	}
}

// However the bytes are cut on the way, all of them come out, in order, and an empty
// line is where a read ends.
func TestReadsEndAtEmptyLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a\r\n]|\r\n\r\n){0,60}`).Draw(t, "text")
		cuts := rapid.SliceOfN(rapid.IntRange(1, 7), 1, 9).Draw(t, "cuts")
		room := rapid.IntRange(1, 50).Draw(t, "room")
		from := &pieces{text: []byte(text), cuts: cuts}
		c := &conn1{Conn: nil}
		c.exchange.Store(1)
		var got []byte
		for len(got) < len(text) {
			b := make([]byte, room)
			n, err := c.readFrom(from, b)
			if err != nil || n == 0 {
				t.Fatalf("%d, %v after %q of %q", n, err, got, text)
			}
			lines := strings.ReplaceAll(string(append(got[:len(got):len(got)], b[:n-1]...)), "\r\n", "\n")
			if at := strings.LastIndex(lines, "\n\n"); at >= 0 && at+2 > len(strings.ReplaceAll(string(got), "\r\n", "\n")) {
				t.Fatalf("%q has an empty line inside, after %q", b[:n], got)
			}
			got = append(got, b[:n]...)
		}
		if string(got) != text {
			t.Fatalf("%q came out as %q", text, got)
		}
	})
}

// pieces hands out text as it is cut.
type pieces struct {
	text []byte
	cuts []int
	turn int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, errors.New("read past the end")
	}
	n := copy(b, p.text[:min(len(p.text), p.cuts[p.turn%len(p.cuts)])])
	p.turn++
	p.text = p.text[n:]
	return n, nil
}

// Between the end of one exchange and the reader's next look, a connection may be given
// to another request while it holds what came unasked.
func TestAConnectionThatHoldsWhatCameUnaskedIsEndedByTheNextRequest(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &conn1{Conn: tls.Client(ours, &tls.Config{ServerName: host})}
	c.exchange.Store(1)
	p := make([]byte, 100)
	n, err := c.readFrom(strings.NewReader("HTTP/1.1 204 No Content\r\n\r\ncanary"), p)
	if err != nil || strings.Contains(string(p[:n]), "canary") {
		t.Fatalf("%q, %v", p[:n], err)
	}
	c.begin()
	if _, err := theirs.Read(p); err != io.EOF {
		t.Errorf("the connection is open: %v", err)
	}
}
