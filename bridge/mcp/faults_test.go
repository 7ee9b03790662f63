package mcp

import (
	"strings"
	"testing"

	"github.com/loomext/loomext/host"
)

func TestOnlyWhatBrokeTheProtocolIsToldAsThat(t *testing.T) {
	const place = "/home/ada/run.rec"
	for _, kind := range host.Kinds() {
		got := told(&host.Error{Kind: kind, Extension: "units", Target: "convert", Code: "code", Msg: "words of " + place})
		if said := strings.Contains(got, "broke the protocol"); said != (kind == host.Protocol) {
			t.Errorf("%s reads %q", kind, got)
		}
		if private := kind == host.Gone || kind == host.Unrecorded; private && strings.Contains(got, place) {
			t.Errorf("%s names a place of this machine: %q", kind, got)
		}
	}
}
