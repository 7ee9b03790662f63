//go:build !unix

package mcp

import "math"

// descriptors is how many this process may have: no system that has handles counts them.
func descriptors() int { return math.MaxInt32 }
