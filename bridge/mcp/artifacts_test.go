package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestTheOldestArtifactsAreListedNoMore(t *testing.T) {
	b := &Bridge{server: sdk.NewServer(&sdk.Implementation{Name: "test"}, nil), logger: slog.New(slog.DiscardHandler)}
	for i := range maxKept/2 + 2 {
		b.keep("demo", []emission{{id: fmt.Sprintf("%04d-0", i), name: "a"}, {id: fmt.Sprintf("%04d-1", i), name: "b"}})
	}
	near, far := sdk.NewInMemoryTransports()
	served, err := b.server.Connect(context.Background(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer served.Wait()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), far, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var uris []string
	for r, err := range session.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URI)
	}
	if len(uris) != maxKept || uris[0] != artifactURI("0002-0") || uris[maxKept-1] != artifactURI(fmt.Sprintf("%04d-1", maxKept/2+1)) {
		t.Errorf("%d, from %s to %s", len(uris), uris[0], uris[len(uris)-1])
	}
}
