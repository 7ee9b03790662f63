package egress

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func gzipped(t testing.TB, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestABodyIsTakenUpToItsBound(t *testing.T) {
	random := make([]byte, 100_000) // does not compress
	state := uint32(1)
	for i := range random {
		state = state*1664525 + 1013904223
		random[i] = byte(state >> 24)
	}
	for _, version := range versions {
		for _, coding := range []string{"plain", "length", "gzip", "gzip in members"} {
			t.Run(version+" "+coding, func(t *testing.T) {
				var body []byte
				at := serve(t, version, func(w http.ResponseWriter, _ *http.Request) {
					switch coding {
					case "length":
						w.Header().Set("Content-Length", fmt.Sprint(len(body)))
						_, _ = w.Write(body)
					case "plain":
						_, _ = w.Write(body[:len(body)/2])
						w.(http.Flusher).Flush()
						_, _ = w.Write(body[len(body)/2:])
					case "gzip":
						w.Header().Set("Content-Encoding", "gzip")
						_, _ = w.Write(gzipped(t, body))
					default:
						w.Header().Set("Content-Encoding", "GZIP")
						_, _ = w.Write(append(gzipped(t, body[:len(body)/2]), gzipped(t, body[len(body)/2:])...))
					}
				})
				c := newClient(t, options(at))
				p := all()
				p.MaxResponseBytes = int64(len(random))
				body = random
				response := answered(t, c, p, get("/"))
				if !bytes.Equal(response.Body, random) {
					t.Errorf("%d bytes came", len(response.Body))
				}
				if _, there := response.Headers["Content-Encoding"]; there {
					t.Error("it is still said to be encoded")
				}
				body = append(bytes.Clone(random), 'x')
				e := refused(t, c, p, get("/"), Ceiling, "more than 100000 bytes")
				if !strings.Contains(e.Msg, "max_response_bytes") {
					t.Error(e.Msg)
				}
				body = nil
				answered(t, c, p, get("/"))
			})
		}
	}
}

func TestASmallBoundHolds(t *testing.T) {
	at := serve(t, "HTTP/1.1", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.TrimPrefix(r.URL.Path, "/"))
	})
	c := newClient(t, options(at))
	p := all()
	p.MaxResponseBytes = 1
	answered(t, c, p, get("/a"))
	refused(t, c, p, get("/ab"), Ceiling, "1 bytes")
	p.MaxResponseBytes = 0
	answered(t, c, p, get("/"))
	refused(t, c, p, get("/a"), Ceiling, "0 bytes")
	answered(t, c, p, Request{Method: "HEAD", URL: get("/abcdef").URL})
	p.MaxResponseBytes = -1
	refused(t, c, p, get("/"), Ceiling, "bytes")
	p.MaxResponseBytes = math.MaxInt64
	answered(t, c, p, get("/ab"))
}

func TestABodyWithoutEndEndsAtTheBound(t *testing.T) {
	empty := func() []byte { // what says nothing, for ever: blocks without content
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, 1)
		for range 1000 {
			_ = w.Flush()
		}
		return b.Bytes()
	}()
	head := gzipped(t, nil)[:10]
	bomb := gzipped(t, make([]byte, 64<<20))
	for name, test := range map[string]struct {
		coding string
		first  []byte
		again  []byte
	}{
		"plain":              {"", nil, bytes.Repeat([]byte("x"), 1000)},
		"gzip of nothing":    {"gzip", head, empty},
		"members of nothing": {"gzip", nil, gzipped(t, nil)},
		"a bomb":             {"gzip", bomb, nil},
		"a bomb, again":      {"gzip", bomb, bomb},
		"asked for":          {"gzip", nil, bytes.Repeat([]byte("x"), 1000)},
	} {
		for _, version := range versions {
			t.Run(version+" "+name, func(t *testing.T) {
				at := serve(t, version, func(w http.ResponseWriter, _ *http.Request) {
					if test.coding != "" {
						w.Header().Set("Content-Encoding", test.coding)
					}
					_, err := w.Write(test.first)
					for err == nil && test.again != nil {
						_, err = w.Write(test.again)
					}
				})
				r := get("/")
				if name == "asked for" {
					r.Headers = map[string]string{"Accept-Encoding": "gzip"}
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				refused(t, newClient(t, options(at)), all(), r, Ceiling, "more than 1048576 bytes")
				runtime.ReadMemStats(&after)
				if made := after.TotalAlloc - before.TotalAlloc; made > 64<<20 {
					t.Errorf("%d MiB were made", made>>20)
				}
			})
		}
	}
}

func TestABodyIsHandedOverAsItIsToWhoAsksForAnEncoding(t *testing.T) {
	body := gzipped(t, []byte("hello"))
	at := serve(t, "HTTP/1.1", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Asked", r.Header.Get("Accept-Encoding"))
		if r.Method != "HEAD" {
			_, _ = w.Write(body)
		}
	})
	c := newClient(t, options(at))
	for _, r := range []Request{
		{Method: "GET", URL: get("/").URL, Headers: map[string]string{"accept-encoding": "gzip, br"}},
		{Method: "GET", URL: get("/").URL, Headers: map[string]string{"Range": "bytes=0-"}},
	} {
		response := answered(t, c, all(), r)
		if !bytes.Equal(response.Body, body) || response.Headers["Content-Encoding"] != "gzip" || response.Headers["X-Asked"] != r.Headers["accept-encoding"] {
			t.Errorf("got %q, %v", response.Body, response.Headers)
		}
	}
	response := answered(t, c, all(), Request{Method: "HEAD", URL: get("/").URL})
	if response.Headers["X-Asked"] != "" || response.Headers["Content-Encoding"] != "gzip" {
		t.Errorf("HEAD got %v", response.Headers)
	}
}

func TestABodyThatIsNotWhatItSaysIsAFailure(t *testing.T) {
	whole := gzipped(t, []byte("hello"))
	for name, body := range map[string][]byte{"text": []byte("hello"), "cut": whole[:len(whole)-4], "and more": append(slices.Clone(whole), "tail"...)} {
		at := serve(t, "HTTP/1.1", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(body)
		})
		t.Run(name, func(t *testing.T) {
			refused(t, newClient(t, options(at)), all(), get("/"), Failed, `not the "gzip" it says`)
		})
	}
}

func TestTheHeadOfAResponseIsBounded(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			size := 0
			at := serve(t, version, func(w http.ResponseWriter, _ *http.Request) {
				for i := range 4 {
					w.Header().Set(fmt.Sprintf("X-Large-%d", i), strings.Repeat("a", size/4))
				}
			})
			c := newClient(t, options(at))
			size = maxHead / 2
			answered(t, c, all(), get("/"))
			size = maxHead + maxHead/8
			refused(t, c, all(), get("/"), Ceiling, "headers of its response")
			size = 8 * maxHead // where HTTP/2 gives up the connection before the end
			if _, err := c.Do(t.Context(), all(), get("/")); err == nil {
				t.Error("a head of eight times the bound was taken")
			}
		})
	}
	t.Run("without end", func(t *testing.T) {
		at := serveWire(t, func(c net.Conn) {
			head(c)
			_, err := fmt.Fprint(c, "HTTP/1.1 200 OK\r\nX: ")
			for err == nil {
				_, err = fmt.Fprint(c, strings.Repeat("a", 1000))
			}
		})
		refused(t, newClient(t, options(at)), all(), get("/"), Ceiling, "headers of its response")
	})
}

func TestInterimResponsesAreBounded(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			n := 0
			at := serve(t, version, func(w http.ResponseWriter, _ *http.Request) {
				for range n {
					w.WriteHeader(http.StatusEarlyHints)
				}
				w.WriteHeader(http.StatusOK)
			})
			c := newClient(t, options(at))
			n = maxInterim
			answered(t, c, all(), get("/"))
			n = maxInterim + 1
			refused(t, c, all(), get("/"), Failed, "interim responses")
		})
	}
	t.Run("without end", func(t *testing.T) {
		at := serveWire(t, func(c net.Conn) {
			head(c)
			var err error
			for err == nil {
				_, err = fmt.Fprint(c, "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n")
			}
		})
		refused(t, newClient(t, options(at)), all(), get("/"), Failed, "interim responses")
	})
}

func TestTrailersAndWhatBelongsToTheConnectionAreLeftOut(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			at := serve(t, version, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Trailer", "X-Trailer")
				w.Header().Set("Proxy-Authenticate", "Basic")
				w.Header().Add("Set-Cookie", "a=b")
				fmt.Fprint(w, "body")
				w.Header().Set("X-Trailer", "late")
				w.Header().Set(http.TrailerPrefix+"X-Unannounced", "late")
			})
			response := answered(t, newClient(t, options(at)), all(), get("/"))
			for name := range response.Headers {
				if name != "Date" && name != "Content-Type" && name != "Content-Length" {
					t.Errorf("there is %s", name)
				}
			}
			if string(response.Body) != "body" {
				t.Errorf("the body is %q", response.Body)
			}
		})
	}
}

func TestTwoLengthsAreAFailure(t *testing.T) {
	at := serveWire(t, func(c net.Conn) {
		head(c)
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 4\r\n\r\nokok")
		_, _ = io.Copy(io.Discard, c)
	})
	refused(t, newClient(t, options(at)), all(), get("/"), Failed, host)
}

// A body whose decompression alone outlasts the deadline cannot be made within the
// bounds, so the reader is tried by itself.
func TestDecompressionEndsWithTheCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := all()
	e := &exchange{client: newClient(t, Options{}), policy: &p, ctx: ctx, began: ctx, to: target{host: host}}
	if _, err := e.decompress("gzip", gzipped(t, []byte("hello"))); err == nil || err.Kind != Cancelled {
		t.Error(err)
	}
}

func deflated(t testing.TB, body []byte, wrapped bool) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = zlib.NewWriter(&b)
	if !wrapped {
		w, _ = flate.NewWriter(&b, 6)
	}
	_, _ = w.Write(body)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
