package mcp

import "github.com/loomext/loomext/host"

// Session is the bridge's, for tests that look at its satellites.
func (b *Bridge) Session() *host.Session { return b.session }

// Apply serves what there is now.
func (b *Bridge) Apply() { b.apply(b.records()) }

// Bounds that tests go up to.
const (
	MaxInline = maxInline
	MaxLines  = maxLines
)
