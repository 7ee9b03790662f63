package mcp_test

import "github.com/loomext/loomext/bridge/mcp"

func init() { mcp.WebHome = deskHome }
