// Package mcp serves installed extensions to the clients of the Model Context
// Protocol.
//
// Not there yet: everything behind the exported names; see bridge.go.
package mcp
