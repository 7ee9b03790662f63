package mcp

import "github.com/loomext/loomext/host"

// Session is the bridge's, for tests that look at its satellites.
func (b *Bridge) Session() *host.Session { return b.session }

// Bounds that tests go up to.
const (
	MaxInline    = maxInline
	MaxKept      = maxKept
	RefreshEvery = refreshEvery
)
