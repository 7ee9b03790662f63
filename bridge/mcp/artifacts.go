package mcp

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxKept is how many artifacts of a session are listed, and can be read by it: more
// than anybody looks through. The oldest go first.
const maxKept = 512

// artifacts are those of this session that are listed, the oldest first. What another
// session left in the same home is none of this client's business.
type artifacts struct {
	mu   sync.Mutex
	uris []string
}

// keep lists what a call left.
func (b *Bridge) keep(extension string, emitted []emission) {
	if len(emitted) == 0 {
		return
	}
	b.artifacts.mu.Lock()
	defer b.artifacts.mu.Unlock()
	for _, e := range emitted {
		uri := artifactURI(e.id)
		entry := &sdk.Resource{
			URI: uri, Name: e.name, MIMEType: e.contentType, Size: e.size, Description: "An artifact that " + extension + " emitted in this session.",
		}
		if err := attempt(func() { b.server.AddResource(entry, b.artifactHandler(e.id, e.contentType)) }); err != nil {
			b.logger.Warn("an artifact is not listed", "id", e.id, "error", err)
			continue
		}
		b.artifacts.uris = append(b.artifacts.uris, uri)
	}
	if over := len(b.artifacts.uris) - maxKept; over > 0 {
		b.server.RemoveResources(b.artifacts.uris[:over]...)
		b.artifacts.uris = append([]string(nil), b.artifacts.uris[over:]...)
	}
}

// has reports whether an artifact is listed.
func (a *artifacts) has(uri string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.uris, uri)
}

func (b *Bridge) artifactHandler(id, contentType string) sdk.ResourceHandler {
	return func(_ context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		data, err := b.artifact(id)
		if err != nil {
			return nil, sdk.ResourceNotFoundError(req.Params.URI)
		}
		contents := []*sdk.ResourceContents{contentsOf(req.Params.URI, contentType, data)}
		if _, sent := sizesOf(contents); sent > maxResult {
			return nil, tooLargeArtifact(id, int64(len(data)))
		}
		return &sdk.ReadResourceResult{Contents: contents}, nil
	}
}

// artifact is what an artifact of this session holds.
func (b *Bridge) artifact(id string) ([]byte, error) {
	store := b.host.Artifacts()
	kept, err := store.Get(id)
	if err != nil {
		return nil, err
	}
	if kept.Session != b.session.ID() {
		return nil, fmt.Errorf("%s is another session's", id)
	}
	path, err := store.Path(id)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}
