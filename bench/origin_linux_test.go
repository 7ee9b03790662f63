package main

import "testing"

// The origin and net/http's side of the comparison, without a broker.
func TestOriginAnswersOverHTTP2(t *testing.T) {
	o, err := startOrigin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := o.client()
	for range 2 {
		if err := o.get(t.Context(), client); err != nil {
			t.Error(err)
		}
	}
	response, err := client.Get(originURL)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.ProtoMajor != 2 || response.Header.Get("Content-Type") != originType {
		t.Errorf("%s, %q", response.Proto, response.Header)
	}
	client.CloseIdleConnections()
	if err := o.close(); err != nil {
		t.Error(err)
	}
}
