package egress

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// docs/network.md says the bounds that are in force.
func TestTheNetworkPageSaysTheBounds(t *testing.T) {
	text, err := os.ReadFile("../docs/network.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	for _, want := range []string{
		fmt.Sprintf("- more than %d KiB.", maxURL>>10),
		fmt.Sprintf("There are at most %d, with %d KiB in all", maxHeaders, maxHeaderBytes>>10),
		fmt.Sprintf("A body has at most %d MiB.", maxRequestBody>>20),
		fmt.Sprintf("| status line and headers | %d KiB |", maxHead>>10),
		fmt.Sprintf("| interim responses (1xx) | %d |", maxInterim),
		fmt.Sprintf("| time | %d seconds", RequestTime/time.Second),
		fmt.Sprintf("At most %s are followed", []string{"none", "one", "two", "three"}[maxRedirects]),
		fmt.Sprintf("It has %d bytes to %d KiB of printable ASCII", MinSecret, MaxSecret>>10),
		fmt.Sprintf("UTF-16, %s layers deep", []string{"none", "one", "two", "three"}[maxLayers]),
		"Without a `User-Agent` there is `" + userAgent + "`",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say: %s", want)
		}
	}
	for _, name := range strings.Fields("Host Connection Keep-Alive TE Trailer Transfer-Encoding Upgrade HTTP2-Settings Expect Content-Length") {
		if reserved(name) == "" || !strings.Contains(page, "`"+name+"`") {
			t.Errorf("%s: reserved is %q, and the page has to have it", name, reserved(name))
		}
	}
}
