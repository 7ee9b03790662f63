package mcp

import "github.com/loomext/loomext/install"

// Offered is a tool under the name that clients know it by.
type Offered struct {
	Name, Extension, Tool string
	// Bytes is the size of its entry in the list of tools.
	Bytes int
}

// Offer is what is served of the records, by name.
func Offer(records []install.Record, only, except []string) []Offered { return nil }
