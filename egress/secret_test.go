package egress

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// canary is a secret with what encodings change, twice over in what they change it to.
const canary = `sk-Canary+/"7\=&%é-free?value`

// spelt is canary without its letter that no header carries.
var spelt = strings.ReplaceAll(canary, "é", "e")

func secretOf(t testing.TB, value string) Secret {
	t.Helper()
	s, err := NewSecret([]byte(value))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// keyed are a client and a policy whose requests to host carry a secret.
func keyed(t testing.TB, o Options, value string) (*Client, Policy) {
	t.Helper()
	o.Secret = func(_ context.Context, name string) (Secret, error) {
		if name != "API_KEY" {
			t.Errorf("the secret %s was asked for", name)
		}
		return secretOf(t, value), nil
	}
	p := all()
	p.Hosts = []string{host, other}
	p.Secrets = []Credential{{Env: "API_KEY", Host: host, Header: "x-api-key", Format: "Bearer {}"}}
	return newClient(t, o), p
}

// hasCanary is true where any of the spellings of the canary is in text.
func hasCanary(text string) bool {
	lower := strings.ToLower(text)
	for _, s := range []string{"canary", hex.EncodeToString([]byte("Canary")), "Q2FuYXJ5", "NhbmFye", "DYW5hcn"} {
		if strings.Contains(lower, strings.ToLower(s)) {
			return true
		}
	}
	return strings.Contains(strings.ReplaceAll(strings.Trim(text, "[]"), ", ", " "), "67 97 110 97 114 121")
}

func TestASecretCannotBePrinted(t *testing.T) {
	secret := secretOf(t, spelt)
	o := Options{Secret: func(context.Context, string) (Secret, error) { return secret, nil }}
	client := newClient(t, o)
	credential := Credential{Env: "API_KEY", Host: host, Header: "X-Key", Format: "{}"}
	_, fault := NewSecret([]byte(spelt + "\n"))
	if fault == nil {
		t.Fatal("a value with a line end is taken")
	}
	holders := map[string]any{
		"secret": secret, "pointer": &secret, "list": []Secret{secret}, "map": map[string]Secret{"k": secret}, "struct": struct{ S Secret }{secret},
		"options": o, "client": client, "policy": Policy{Secrets: []Credential{credential}},
		"error": fault, "reflection": errors.Join(fault, &Error{Kind: Leaked, Msg: "x"}),
	}
	for name, v := range holders {
		var texts []string
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%T"} {
			texts = append(texts, fmt.Sprintf(verb, v)) //nolint:govet // every verb for every type
		}
		if text, err := json.Marshal(v); err == nil {
			texts = append(texts, string(text))
		}
		if text, err := xml.Marshal(v); err == nil {
			texts = append(texts, string(text))
		}
		var b bytes.Buffer
		_ = gob.NewEncoder(&b).Encode(v)
		slog.New(slog.NewTextHandler(&b, nil)).Info("x", "v", v, slog.Any("w", &v))
		slog.New(slog.NewJSONHandler(&b, nil)).Info("x", "v", v, slog.Any("w", &v))
		if err, ok := v.(error); ok {
			texts = append(texts, err.Error(), fmt.Errorf("wrapped: %w", err).Error())
		}
		for _, text := range append(texts, b.String()) {
			if hasCanary(text) {
				t.Errorf("%s prints the canary: %s", name, text)
			}
		}
	}
	if !hasCanary(fmt.Sprintf("%x %q", []byte(spelt), spelt)) || !hasCanary(fmt.Sprint([]byte(spelt))) {
		t.Error("the canary is not found where it is")
	}
}

func TestASecretMustBeAbleToStandInAHeader(t *testing.T) {
	for _, value := range []string{"", "short", "1234567", "has\nline", "trailing\n", "carriage\r", "with\x00nul", "tabbed\tone", "del\x7fdelete", "ümlaut-value", "invalid\xff", " leading space", "trailing space ", strings.Repeat("a", MaxSecret+1)} {
		_, err := NewSecret([]byte(value))
		var e *Error
		if !errors.As(err, &e) || e.Kind != NoSecret || len(value) > 4 && strings.Contains(e.Msg, value[:5]) {
			t.Errorf("%q: %v", value, err)
		}
	}
	value := []byte("12345678")
	s := secretOf(t, string(value))
	clear(value)
	if s.reveal() != "12345678" {
		t.Error("the caller's bytes are the secret's")
	}
}

func TestASecretGoesToItsOwnHostAlone(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			at := serve(t, version, func(w http.ResponseWriter, r *http.Request) {
				got := r.Header.Values("X-Api-Key")
				want := []string{"Bearer " + spelt}
				if r.Host == other {
					want = nil
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s got %q", r.Host, got)
				}
			})
			c, p := keyed(t, options(at), spelt)
			answered(t, c, p, get("/"))
			answered(t, c, p, Request{Method: "GET", URL: "https://" + other + "/"})
			answered(t, c, p, get("/"))
		})
	}
}

func TestASecretIsReadForEachRequestThatLeaves(t *testing.T) {
	at := serve(t, "HTTP/1.1", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/there" {
			http.Redirect(w, r, "/there", http.StatusFound)
			return
		}
		if got := r.Header.Get("X-Api-Key"); got != "Bearer value number 2" {
			t.Errorf("the redirect carries %q", got)
		}
		if r.URL.RawQuery != "" {
			return
		}
		fmt.Fprint(w, "it was value number 1 before")
	})
	c, p := keyed(t, options(at), "unused value")
	n := 0
	c.secret = func(context.Context, string) (Secret, error) {
		n++
		return secretOf(t, fmt.Sprint("value number ", n)), nil
	}
	refused(t, c, p, get("/"), Leaked, "API_KEY")
	if n != 2 {
		t.Errorf("it was read %d times", n)
	}
}

func TestAnUnsetSecretIsRefusedBeforeAnythingIsOpened(t *testing.T) {
	var taken atomic.Int32
	at := listen(t, nil, func(net.Conn) { taken.Add(1) })
	for name, source := range map[string]func(context.Context, string) (Secret, error){
		"no source": nil,
		"zero":      func(context.Context, string) (Secret, error) { return Secret{}, nil },
		"error":     func(context.Context, string) (Secret, error) { return Secret{}, errors.New("its file is not there") },
		"own error": func(context.Context, string) (Secret, error) { return NewSecret([]byte("x")) },
	} {
		t.Run(name, func(t *testing.T) {
			c, p := keyed(t, options(at), "unused value")
			c.secret = source
			refused(t, c, p, get("/"), NoSecret, "API_KEY")
		})
	}
	t.Run("ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c, p := keyed(t, options(at), "unused value")
		c.secret = func(ctx context.Context, _ string) (Secret, error) { cancel(); return Secret{}, ctx.Err() }
		refusedIn(t, ctx, c, p, get("/"), Cancelled, "gave up")
	})
	if n := taken.Load(); n != 0 {
		t.Errorf("%d connections were opened", n)
	}
}

func TestASecretIsNotReadForARequestThatMayNotLeave(t *testing.T) {
	c, p := keyed(t, options(listen(t, nil, func(net.Conn) {})), "unused value")
	c.secret = func(context.Context, string) (Secret, error) {
		t.Error("its source was asked")
		return Secret{}, nil
	}
	p.Spend = func() error { return errors.New("no more requests") }
	refused(t, c, p, get("/"), Ceiling, "no more requests")
}

func TestTheEnvironmentMayNotPrintHeaders(t *testing.T) {
	for _, setting := range []string{"http2debug=1", "gctrace=0,http2debug=2"} {
		t.Setenv("GODEBUG", setting)
		if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "http2debug") {
			t.Errorf("%s: %v", setting, err)
		}
	}
}

func TestACredentialThatCannotBeSentIsRefused(t *testing.T) {
	c, p := keyed(t, options(serve(t, "HTTP/1.1", unasked(t))), spelt)
	good := Credential{Env: "API_KEY", Host: host, Header: "X-Key", Format: "{}"}
	for name, credentials := range map[string][]Credential{
		"header":  {{Env: "API_KEY", Host: host, Header: "X Key", Format: "{}"}},
		"host":    {{Env: "API_KEY", Host: host, Header: "Host", Format: "{}"}},
		"format":  {{Env: "API_KEY", Host: host, Header: "X-Key", Format: "none"}},
		"lines":   {{Env: "API_KEY", Host: host, Header: "X-Key", Format: "{}\r\nX: y"}},
		"doubled": {good, {Env: "OTHER", Host: host, Header: "x-key", Format: "{}"}},
	} {
		t.Run(name, func(t *testing.T) {
			p.Secrets = credentials
			refused(t, c, p, get("/"), Invalid, "secret: ")
		})
	}
}

// echoes are the ways in which a response can carry a value back.
func echoes(value string) map[string]string {
	std, urls := base64.StdEncoding, base64.URLEncoding
	quoted, _ := json.Marshal("<" + value)
	var everyByte, everyRune, mixed strings.Builder
	for i, c := range []byte(value) {
		fmt.Fprintf(&everyByte, "%%%02x", c)
		fmt.Fprintf(&everyRune, `\u%04X`, c)
		if i%2 == 0 || strings.IndexByte(`%\`, c) >= 0 {
			fmt.Fprintf(&mixed, "%%%02X", c)
		} else {
			mixed.WriteByte(c)
		}
	}
	all := map[string]string{
		"raw": value, "path": url.PathEscape(value), "query": url.QueryEscape(value), "every byte": everyByte.String(), "mixed": mixed.String(),
		"hex": hex.EncodeToString([]byte(value)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(value))),
		"json": strings.Trim(string(quoted), `"`), "every rune": everyRune.String(), "json of a path": strings.ReplaceAll(url.PathEscape(value), "/", `\/`),
		"slashes": strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(value, `\`, `\\`), `"`, `\"`), "/", `\/`),
		"twice":   url.QueryEscape(url.QueryEscape(value)), "json in a query": url.QueryEscape(string(quoted)),
		"url in json": everyRuneOf(url.QueryEscape(value)),
	}
	for before := range 3 {
		for after := range 3 {
			text := []byte("abc"[:before] + value + "xyz"[:after])
			name := fmt.Sprint(" ", before, " ", after)
			all["base64"+name] = std.EncodeToString(text)
			all["base64url"+name] = urls.EncodeToString(text)
			all["bare base64"+name] = std.WithPadding(base64.NoPadding).EncodeToString(text)
			all["base64 in a query"+name] = url.QueryEscape(std.EncodeToString(text))
			all["base64 in json"+name] = strings.ReplaceAll(std.EncodeToString(text), "/", `\/`)
		}
	}
	return all
}

func everyRuneOf(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}

func TestAResponseThatCarriesTheSecretBackIsRefused(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			var write func(w http.ResponseWriter, echo string)
			var echo string
			at := serve(t, version, func(w http.ResponseWriter, _ *http.Request) { write(w, echo) })
			c, p := keyed(t, options(at), spelt)
			for place, into := range map[string]func(http.ResponseWriter, string){
				"body": func(w http.ResponseWriter, echo string) { fmt.Fprintf(w, `{"a": "%s"}`, echo) },
				"body of an error": func(w http.ResponseWriter, echo string) {
					w.WriteHeader(http.StatusForbidden)
					fmt.Fprint(w, strings.Repeat("x", 5000), echo)
				},
				"gzip": func(w http.ResponseWriter, echo string) {
					w.Header().Set("Content-Encoding", "gzip")
					_, _ = w.Write(gzipped(t, []byte("a"+echo)))
				},
				"before decompression": func(w http.ResponseWriter, echo string) {
					w.Header().Set("Content-Encoding", "gzip")
					fmt.Fprint(w, echo)
				},
				"header":     func(w http.ResponseWriter, echo string) { w.Header().Set("X-Echo", "a"+echo+"b") },
				"set-cookie": func(w http.ResponseWriter, echo string) { w.Header().Add("Set-Cookie", "a="+echo) },
				"location": func(w http.ResponseWriter, echo string) {
					w.Header().Set("Location", "/?next="+echo)
					w.WriteHeader(http.StatusFound)
				},
				"location elsewhere": func(w http.ResponseWriter, echo string) {
					w.Header().Set("Location", "https://elsewhere.example/?next="+echo)
					w.WriteHeader(http.StatusFound)
				},
			} {
				for name, text := range echoes(spelt) {
					write, echo = into, text
					e := refused(t, c, p, get("/"), Leaked, "the secret API_KEY")
					if hasCanary(e.Msg) || hasCanary(fmt.Sprintf("%#v", e)) {
						t.Errorf("%s, %s: %s", place, name, e.Msg)
					}
				}
			}
			write = func(w http.ResponseWriter, _ string) { fmt.Fprint(w, spelt[:len(spelt)-2]) }
			answered(t, c, p, get("/"))
		})
	}
}

// The parts of a response that net/http's server cannot write.
func TestAStatusLineOrAHeadersNameThatCarriesTheSecretIsRefused(t *testing.T) {
	const token = "tok3nCanaryValue"
	for name, answer := range map[string]string{
		"status":   "HTTP/1.1 403 not for " + token + "\r\nContent-Length: 0\r\n\r\n",
		"name":     "HTTP/1.1 200 OK\r\nX-" + token + ": y\r\nContent-Length: 0\r\n\r\n",
		"trailer":  "HTTP/1.1 200 OK\r\nTrailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-T: " + token + "\r\n\r\n",
		"unframed": "HTTP/1.1 200 OK\r\n\r\n" + token,
		"no HTTP":  token + " is no HTTP\r\n\r\n",
		"length":   "HTTP/1.1 200 OK\r\nContent-Length: " + token + "\r\n\r\n",
		"coding":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + token + "\r\n\r\n",
		"chunk":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + token + "\r\n",
		"interim":  "HTTP/1.1 103 " + token + "\r\nX: " + token + "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			at := serveWire(t, func(c net.Conn) { head(c); fmt.Fprint(c, answer) })
			c, p := keyed(t, options(at), token)
			response, err := c.Do(t.Context(), p, get("/"))
			if text := fmt.Sprintf("%v %q %#v", err, response.Body, response); hasCanary(text) {
				t.Error(text)
			}
			if name == "status" || name == "unframed" || name == "name" && err == nil {
				if err == nil || err.(*Error).Kind != Leaked {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

func TestACertificateThatCarriesTheSecretIsNotRepeated(t *testing.T) {
	at := listenNamed(t, "canary.example")
	c, p := keyed(t, options(at), "canary.example")
	if e := refused(t, c, p, get("/"), Failed, "another host's"); hasCanary(e.Msg) {
		t.Error(e.Msg)
	}
}

func TestAHostOfARedirectThatCouldBeTheSecretIsNotNamed(t *testing.T) {
	at := serve(t, "HTTP/1.1", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "https://a-"+strings.ToLower("CanaryValue")+".example/")
		w.WriteHeader(http.StatusFound)
	})
	c, p := keyed(t, options(at), "CanaryValue")
	if e := refused(t, c, p, get("/"), NotAllowed, "another host, which"); hasCanary(e.Msg) {
		t.Error(e.Msg)
	}
}

func TestAnEncodedBodyIsSearchedOrRefused(t *testing.T) {
	body := []byte(`{"key": "` + spelt + `"}`)
	var coding string
	var sent []byte
	at := serve(t, "HTTP/1.1", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", coding)
		_, _ = w.Write(sent)
	})
	c, p := keyed(t, options(at), spelt)
	asking := get("/")
	asking.Headers = map[string]string{"Accept-Encoding": "br, gzip, deflate"}
	for _, r := range []Request{asking, get("/")} {
		for name, test := range map[string]struct {
			coding string
			sent   []byte
			piece  string
		}{
			"deflate":      {"deflate", deflated(t, body, true), "carries the secret"},
			"bare deflate": {"Deflate", deflated(t, body, false), "carries the secret"},
			"gzip":         {"x-gzip", gzipped(t, body), "carries the secret"},
			"both":         {"deflate, gzip", gzipped(t, deflated(t, body, true)), "carries the secret"},
			"three":        {"gzip, gzip, gzip", gzipped(t, gzipped(t, gzipped(t, body))), "cannot be searched"},
			"unknown":      {"br", []byte("whatever it is"), "cannot be searched"},
			"known inside": {"br, gzip", gzipped(t, []byte("whatever it is")), "cannot be searched"},
		} {
			coding, sent = test.coding, test.sent
			t.Run(name, func(t *testing.T) { refused(t, c, p, r, Leaked, test.piece) })
		}
	}
	coding, sent = "gzip", gzipped(t, []byte("nothing"))
	if response := answered(t, c, p, asking); !bytes.Equal(response.Body, sent) {
		t.Errorf("got %q", response.Body)
	}
	coding, sent = "br", []byte("whatever it is")
	p.Secrets = nil
	answered(t, c, p, asking)
}
