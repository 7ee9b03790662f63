package net_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/net"
)

// sky asks a service whose key the host adds to the request.
func sky(ctx context.Context, city string) (string, error) {
	address := "https://api.example.com/v1/weather?city=" + url.QueryEscape(city)
	response, err := net.Fetch(ctx, address)
	if cap.CodeOf(err) == cap.CodeNetFailed { // it was allowed and failed on its way
		response, err = net.Fetch(ctx, address)
	}
	if err != nil {
		return "", err
	}
	if response.Status != 200 {
		return "", fmt.Errorf("the weather service answered %d for %q; ask for another city", response.Status, city)
	}
	var answer struct {
		Sky string `json:"sky"`
	}
	if err := json.Unmarshal(response.Body, &answer); err != nil {
		return "", err
	}
	return answer.Sky, nil
}

func Example() {
	host := captest.Open() // a test has captest.New(t)
	defer host.End()
	failures := 1
	host.Handle("net.request", func(captest.Call) (captest.Value, error) {
		if failures > 0 {
			failures--
			return captest.Value{}, &cap.Error{Code: cap.CodeNetFailed, Msg: "the server hung up"}
		}
		return captest.Response(200, map[string]string{"Content-Type": "application/json"}, []byte(`{"sky": "clear"}`)), nil
	})
	fmt.Println(sky(host.Context(), "Bern"))

	host.Refuse("net.request", cap.CodeNotAllowed, "api.example.com is not one of the hosts in [net]")
	fmt.Println(sky(host.Context(), "Bern"))
	// Output:
	// clear <nil>
	//  net: GET "https://api.example.com/v1/weather?city=Bern": not_allowed: api.example.com is not one of the hosts in [net]
}
