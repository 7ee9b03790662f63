package egress

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestARedirectToTheSameOriginIsFollowedTwice(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			var asked []string
			at := serve(t, version, func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.RequestURI)
				left := strings.TrimPrefix(r.URL.Path, "/")
				if left == "" {
					fmt.Fprint(w, "there")
					return
				}
				w.Header().Set("Location", "/"+left[1:]+"?from="+left)
				w.WriteHeader(http.StatusFound)
				fmt.Fprint(w, "moved")
			})
			c := newClient(t, options(at))
			spent := 0
			p := all()
			p.Spend = func() error { spent++; return nil }
			if response := answered(t, c, p, get("/xx")); string(response.Body) != "there" || spent != 3 {
				t.Errorf("got %q after %d requests", response.Body, spent)
			}
			if want := []string{"/xx", "/x?from=xx", "/?from=x"}; !slices.Equal(asked, want) {
				t.Errorf("asked for %q, want %q", asked, want)
			}
			refused(t, c, p, get("/xxx"), Ceiling, "redirects more than 2 times")

			spent = 0
			p.Spend = func() error {
				if spent++; spent > 2 {
					return errors.New("the requests of this call are used up")
				}
				return nil
			}
			refused(t, c, p, get("/xx"), Ceiling, "used up")
		})
	}
}

func TestTheMethodAfterARedirect(t *testing.T) {
	type seen struct {
		method, body, kind string
	}
	var got seen
	at := serve(t, "HTTP/1.1", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var status int
		if n, _ := fmt.Sscanf(r.URL.Path, "/%d", &status); n == 1 {
			w.Header().Set("Location", "/there")
			w.WriteHeader(status)
			return
		}
		got = seen{r.Method, string(body), r.Header.Get("Content-Type")}
	})
	c := newClient(t, options(at))
	for status, rewritten := range map[int][]string{
		301: {"POST"}, 302: {"POST"}, 303: {"POST", "PUT", "DELETE", "PATCH"}, 307: nil, 308: nil,
	} {
		for _, method := range methods {
			got = seen{}
			r := Request{Method: method, URL: get(fmt.Sprintf("/%d", status)).URL, Headers: map[string]string{"content-type": "text/x"}}
			want := seen{method: method, kind: "text/x"}
			if method != "GET" && method != "HEAD" {
				r.Body, want.body = []byte("body"), "body"
			}
			gone := slices.Contains(rewritten, method)
			if gone {
				want = seen{method: "GET"}
			}
			if answered(t, c, all(), r); got != want {
				t.Errorf("%s after %d: got %+v, want %+v", method, status, got, want)
			}
			if gone {
				p := all()
				p.Methods = []string{method}
				refused(t, c, p, r, NotAllowed, `the method is GET`)
			}
		}
	}
}

func TestARedirectElsewhereIsNotFollowed(t *testing.T) {
	var mu sync.Mutex
	var location []string
	at := serve(t, "HTTP/1.1", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != "/" || r.Host != host {
			t.Errorf("%s of %s was asked for", r.RequestURI, r.Host)
		}
		w.Header()["Location"] = location
		w.WriteHeader(http.StatusFound)
	})
	c := newClient(t, options(at))
	p := all()
	p.Hosts = []string{host, other}
	for to, piece := range map[string]string{
		"https://" + other + "/":           "another host, " + other,
		"//" + other + "/x":                "another host, " + other,
		"https://elsewhere.example/?q":     "another host, elsewhere.example",
		"http://" + host + "/":             "http in the clear, " + host,
		"http://" + host + ":80/":          "not a plain https URL",
		"https://" + host + ":8443/":       "not a plain https URL",
		"https://user@" + host + "/":       "not a plain https URL",
		"https://127.0.0.1/":               "not a plain https URL",
		"https://[::1]/":                   "not a plain https URL",
		"https://" + strings.ToUpper(host): "not a plain https URL",
		"https://" + host + "./":           "not a plain https URL",
		"https:///" + host + "/":           "not a plain https URL",
		"https:" + host:                    "not a plain https URL",
		"///" + other + "/":                "not a plain https URL",
		"/\\" + other + "/":                "not a plain https URL",
		"\\\\" + other + "/":               "not a plain https URL",
		"/a b":                             "not a plain https URL",
		"/caf\xe9":                         "not a plain https URL",
		"/%":                               "not a plain https URL",
		"javascript:canary":                "not a plain https URL",
		"file:///etc/canary":               "not a plain https URL",
		"mailto:canary@" + host:            "not a plain https URL",
		"/" + strings.Repeat("a", maxURL):  "not a plain https URL",
	} {
		mu.Lock()
		location = []string{to}
		mu.Unlock()
		e := refused(t, c, p, get("/"), NotAllowed, piece)
		if !strings.HasPrefix(e.Msg, host+": ") || strings.Contains(e.Msg, "canary") || len(e.Msg) > 400 {
			t.Errorf("%q: %s", to, e.Msg)
		}
	}
	location = []string{"/a", "/b"}
	refused(t, c, p, get("/"), NotAllowed, "several places at once")
	location = nil
	if response := answered(t, c, p, get("/")); response.Status != http.StatusFound {
		t.Errorf("a redirect without a place is %d", response.Status)
	}
}

func TestAStatusThatIsNoRedirectIsAResponse(t *testing.T) {
	at := serve(t, "HTTP/1.1", func(w http.ResponseWriter, r *http.Request) {
		var status int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.Header().Set("Location", "https://"+other+"/")
		w.WriteHeader(status)
	})
	c := newClient(t, options(at))
	for _, status := range []int{200, 201, 204, 300, 304, 305, 306, 309, 400, 401, 404, 407, 429, 500, 503, 599, 999} {
		response := answered(t, c, all(), get(fmt.Sprintf("/%d", status)))
		if response.Status != status || response.Headers["Location"] != "https://"+other+"/" {
			t.Errorf("%d: got %d, %v", status, response.Status, response.Headers)
		}
	}
}

func TestARelativeLocationIsResolved(t *testing.T) {
	from := target{host: host, path: "/a/b", query: "c=d", asks: true}
	for location, want := range map[string]string{
		"/x":                             "/x",
		"x":                              "/a/x",
		"./x":                            "/a/x",
		"../x":                           "/x",
		"../../../x":                     "/x",
		"?e=f":                           "/a/b?e=f",
		"":                               "/a/b?c=d",
		"#f":                             "/a/b?c=d",
		"x#f":                            "/a/x",
		"/x%2Fy?z=%20":                   "/x%2Fy?z=%20",
		"//" + host + "/x":               "/x",
		"https://" + host + ":443/x#f#g": "/x",
		"https://" + host:                "/",
	} {
		to, ok := resolve(from, location)
		if !ok || to.host != host || to.url().RequestURI() != want {
			t.Errorf("%q: got %+v, %v, want %s", location, to, ok, want)
		}
	}
}

func TestHeadersGoWithARedirect(t *testing.T) {
	at := serve(t, "HTTP/1.1", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/there", http.StatusSeeOther)
			return
		}
		w.Header().Set("X-Sent", strings.Join(slices.Sorted(maps.Keys(r.Header)), " "))
	})
	r := Request{Method: "POST", URL: get("/").URL, Body: []byte("{}"), Headers: map[string]string{"X-A": "b", "Content-Type": "application/json", "Content-Language": "de"}}
	response := answered(t, newClient(t, options(at)), all(), r)
	if got := response.Headers["X-Sent"]; got != "Accept-Encoding User-Agent X-A" {
		t.Errorf("sent %s", got)
	}
}
