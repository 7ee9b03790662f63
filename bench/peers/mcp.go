package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func implementation(name string) *mcp.Implementation {
	return &mcp.Implementation{Name: name, Version: "1.0.0"}
}

// serveMCP is the far end, until its standard input ends.
func serveMCP(ctx context.Context) error {
	server := mcp.NewServer(implementation("peers-server"), nil)
	// The plain form, which neither decodes the arguments nor checks them against the schema.
	server.AddTool(&mcp.Tool{Name: tool, Description: "Answers with its arguments as text.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	return server.Run(ctx, &mcp.StdioTransport{})
}

type mcpPeer struct{ session *mcp.ClientSession }

func openMCP(ctx context.Context, self string) (peer, error) {
	client := mcp.NewClient(implementation("peers-client"), nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: exec.Command(self, serverMCP)}, nil)
	if err != nil {
		return nil, err
	}
	return &mcpPeer{session}, nil
}

func (p *mcpPeer) call(ctx context.Context, text string) (string, error) {
	r, err := p.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(text)})
	if err != nil {
		return "", err
	}
	if len(r.Content) == 1 {
		if block, ok := r.Content[0].(*mcp.TextContent); ok && !r.IsError {
			return block.Text, nil
		}
	}
	return "", fmt.Errorf("the tool answered %+v", r)
}

func (p *mcpPeer) close() error { return p.session.Close() }
