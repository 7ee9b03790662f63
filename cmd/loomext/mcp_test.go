package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/loomext/loomext/bridge/mcp"
)

func TestTheEntryOfEachClient(t *testing.T) {
	entry := mcpEntry{Command: `/opt/a "b"/loomext`, Args: []string{"mcp", "--home", "/srv/<é>\\\t\x7f"}}
	for name, want := range map[string]string{
		"claude": `{
  "mcpServers": {
    "loomext": {
      "command": "/opt/a \"b\"/loomext",
      "args": [
        "mcp",
        "--home",
        "/srv/<é>\\\t` + "\x7f" + `"
      ]
    }
  }
}
`,
		"codex": `[mcp_servers.loomext]
command = "/opt/a \"b\"/loomext"
args = ["mcp", "--home", "/srv/<é>\\\u0009\u007F"]
`,
		"gemini": `{
  "mcpServers": {
    "loomext": {
      "command": "/opt/a \"b\"/loomext",
      "args": [
        "mcp",
        "--home",
        "/srv/<é>\\\t` + "\x7f" + `"
      ]
    }
  }
}
`,
		"vscode": `{
  "servers": {
    "loomext": {
      "type": "stdio",
      "command": "/opt/a \"b\"/loomext",
      "args": [
        "mcp",
        "--home",
        "/srv/<é>\\\t` + "\x7f" + `"
      ]
    }
  }
}
`,
	} {
		at := slices.IndexFunc(mcpClients, func(c mcpClient) bool { return c.name == name })
		got, err := mcpClients[at].render(entry)
		if err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
		if mcpClients[at].format == "json" && !json.Valid([]byte(got)) {
			t.Errorf("%s: this is no JSON", name)
		}
	}
}

func TestToolsThatTakeTooMuchRoomAreNamed(t *testing.T) {
	offered := []mcp.Offered{
		{Name: "small", Extension: "a", Tool: "small", Bytes: 100},
		{Name: "b__big", Extension: "b", Tool: "big", Bytes: mcp.Budget},
		{Name: "c__big", Extension: "c", Tool: "big", Bytes: 2000},
		{Name: "middle", Extension: "a", Tool: "middle", Bytes: 1000},
	}
	for _, tt := range []struct {
		offered []mcp.Offered
		want    []string
	}{
		{offered, []string{"mcp: 4 tools have 67.0 KiB ", " some 17159 tokens ", "the largest: big of b (64.0 KiB), big of c (2.0 KiB), middle of a (1000 B);", "--only or --except"}},
		{offered[1:2], nil},
		{nil, nil},
	} {
		var stderr bytes.Buffer
		c := &cli{streams: streams{err: &stderr}}
		c.progress = newProgress(&stderr, 0, environment())
		c.adviseSize(tt.offered)
		for _, want := range tt.want {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("lacks %q: %s", want, stderr.String())
			}
		}
		if tt.want == nil && stderr.Len() > 0 {
			t.Errorf("within the budget: %s", stderr.String())
		}
	}
}

func TestAnAddressIsOfLoopbackUnlessSaidOtherwise(t *testing.T) {
	changed := func(name string) bool { return name == "http" }
	for address, want := range map[string]string{
		"8383":           "127.0.0.1:8383",
		":8383":          "127.0.0.1:8383",
		"0":              "127.0.0.1:0",
		"localhost:8383": "127.0.0.1:8383",
		"127.0.0.5:1":    "127.0.0.5:1",
		"[::1]:8383":     "[::1]:8383",
		"0.0.0.0:8383":   "",
		"[::]:8383":      "",
		"10.0.0.1:1":     "",
		"::1":            "",
		"host":           "",
		"host:http":      "",
		"-1":             "",
		"70000":          "",
		"http://host:1":  "",
	} {
		o := mcpHTTP{address: address}
		err := o.settle(changed)
		if want == "" && err == nil || want != "" && (err != nil || o.address != want) {
			t.Errorf("%s: %s, %v", address, o.address, err)
		}
	}
	o := mcpHTTP{address: "0.0.0.0:8383", remote: true}
	if err := o.settle(changed); err != nil || o.address != "0.0.0.0:8383" {
		t.Errorf("with --allow-remote: %s, %v", o.address, err)
	}
}
