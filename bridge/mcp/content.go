package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"mime"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomext/loomext/host"
)

const (
	// maxInline is the size of one artifact that is sent within an answer, in bytes, and
	// maxInlineAll what those of one answer have together. A larger one is a link: a client
	// puts what is within before its model.
	maxInline    = 1 << 20
	maxInlineAll = 4 << 20
	// maxStructured is the size of a JSON document that is sent as text and as
	// structured content. Common clients read a message of 16 MiB at most, so a larger one
	// is sent once.
	maxStructured = 4 << 20
)

// emission is an artifact that a call left.
type emission struct {
	id, name, contentType string
	size                  int64
	data                  []byte // nil where it is too large to be sent within
	inline                bool
}

// emissions collects them. Its method is called by the reader of one satellite.
type emissions struct {
	all  []emission
	held int // bytes of data
}

func (e *emissions) add(r host.Report) {
	one := emission{id: r.ID, name: r.Name, contentType: r.ContentType, size: int64(len(r.Data))}
	if len(r.Data) <= maxInline && e.held+len(r.Data) <= maxInlineAll {
		one.data, one.inline = bytes.Clone(r.Data), true
		e.held += len(r.Data)
	}
	e.all = append(e.all, one)
}

// artifactURI is where an artifact is read.
func artifactURI(id string) string { return "loomext://artifacts/" + id }

// outcomeBlocks are an outcome as a result has it.
func outcomeBlocks(o host.Outcome) []sdk.Content {
	all := []sdk.Content{}
	for _, block := range o.Content {
		all = append(all, &sdk.TextContent{Text: string(block.Body)})
	}
	return all
}

// block is an artifact as a block of a result.
func (e emission) block() sdk.Content {
	kind, _, _ := strings.Cut(mediaType(e.contentType), "/")
	switch {
	case !e.inline:
		return &sdk.ResourceLink{URI: artifactURI(e.id), Name: e.name, MIMEType: e.contentType, Size: &e.size}
	case kind == "image":
		return &sdk.ImageContent{Data: e.data, MIMEType: e.contentType}
	case kind == "audio":
		return &sdk.AudioContent{Data: e.data, MIMEType: e.contentType}
	}
	contents := contentsOf(artifactURI(e.id), e.contentType, e.data)
	contents.Meta = sdk.Meta{metaName: e.name}
	return &sdk.EmbeddedResource{Resource: contents}
}

// contentsOf is data as a resource has it: as text, where it is one.
func contentsOf(uri, contentType string, data []byte) *sdk.ResourceContents {
	contents := &sdk.ResourceContents{URI: uri, MIMEType: contentType}
	if len(data) > 0 && isText(contentType) && utf8.Valid(data) {
		contents.Text = string(data)
	} else {
		contents.Blob = append([]byte{}, data...) // not nil: an empty one is a blob
	}
	return contents
}

// mediaType is a content type in lower case and without its parameters.
func mediaType(contentType string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(contentType, ";")
	}
	return cmp.Or(strings.ToLower(strings.TrimSpace(kind)), "application/octet-stream")
}

// isText reports whether data of a content type is text for people.
func isText(contentType string) bool {
	kind := mediaType(contentType)
	switch kind {
	case "application/json", "application/xml", "application/yaml", "application/toml", "application/javascript", "application/sql":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") || strings.HasSuffix(kind, "+yaml")
}

// structured is what of an outcome is structured content: the one document that it is, unless
// it nests too deep. Before the stateless revision that had to be an object.
func structured(o host.Outcome, stateless bool) json.RawMessage {
	if len(o.Content) != 1 || o.Content[0].Type != host.BlockJSON {
		return nil
	}
	body := o.Content[0].Body
	if len(body) > maxStructured || !stateless && !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return nil
	}
	if deeper(body, maxDepth) {
		return nil // it is in the text
	}
	return body
}
