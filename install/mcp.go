package install

import (
	"slices"

	"github.com/loomext/loomext/manifest"
)

// RecordMCP is what clients of the Model Context Protocol are offered beside tools.
type RecordMCP struct {
	Prompts   []RecordPrompt   `json:"prompts"`
	Resources []RecordResource `json:"resources"`
}

// RecordPrompt is a tool as a prompt. What it takes is in the tool's schema, see
// [manifest.Arguments].
type RecordPrompt struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Tool        string `json:"tool"`
}

// RecordResource is a tool as something to read. Its URI may have variables, see
// [manifest.ParseURI].
type RecordResource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Description string `json:"description"`
	MIMEType    string `json:"mime_type"`
	Tool        string `json:"tool"`
}

// Binds reports whether a prompt or a resource calls a tool of the record, which is then not
// offered as a tool.
func (m *RecordMCP) Binds(tool string) bool {
	if m == nil {
		return false
	}
	return slices.ContainsFunc(m.Prompts, func(p RecordPrompt) bool { return p.Tool == tool }) ||
		slices.ContainsFunc(m.Resources, func(r RecordResource) bool { return r.Tool == tool })
}

// mcpTerms is what a manifest binds for MCP, or nil.
func mcpTerms(m manifest.Manifest) *RecordMCP {
	mcp := &RecordMCP{Prompts: []RecordPrompt{}, Resources: []RecordResource{}}
	for _, prompt := range m.Prompts() {
		mcp.Prompts = append(mcp.Prompts, RecordPrompt(prompt))
	}
	for _, resource := range m.Resources() {
		mcp.Resources = append(mcp.Resources, RecordResource(resource))
	}
	if len(mcp.Prompts)+len(mcp.Resources) == 0 {
		return nil
	}
	return mcp
}
