package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/loomext/loomext/escape"
)

// mcpClient is a client whose configuration is known.
type mcpClient struct {
	name   string
	title  string
	file   string // where its entry belongs, for a person
	format string
	render func(mcpEntry) (string, error)
}

// mcpEntry is how a client starts this program.
type mcpEntry struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

var mcpClients = []mcpClient{
	{"claude", "Claude Code", ".mcp.json of a project, or mcpServers in ~/.claude.json for all", "json", jsonEntry("mcpServers", "")},
	{"codex", "Codex", "~/.codex/config.toml", "toml", tomlEntry},
	{"gemini", "Gemini CLI", ".gemini/settings.json of a project, or ~/.gemini/settings.json for all", "json", jsonEntry("mcpServers", "")},
	{"vscode", "VS Code", ".vscode/mcp.json of a workspace", "json", jsonEntry("servers", "stdio")},
}

// mcpConfigResult is what mcp --print-config --json prints. docs/cli.md describes it.
type mcpConfigResult struct {
	Client  string   `json:"client"`
	File    string   `json:"file"`
	Format  string   `json:"format"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Entry   string   `json:"entry"`
}

func mcpClientNames() []string {
	names := make([]string, len(mcpClients))
	for i, client := range mcpClients {
		names[i] = client.name
	}
	return names
}

// printMCPConfig prints the entry of a client's configuration.
func (c *cli) printMCPConfig(o mcpOptions) error {
	entry, err := c.mcpEntry(o)
	if err != nil {
		return err
	}
	for _, client := range mcpClients {
		if client.name != o.client {
			continue
		}
		text, err := client.render(entry)
		if err != nil {
			return err
		}
		if o.asJSON {
			return c.printJSON(mcpConfigResult{
				Client: client.name, File: client.file, Format: client.format, Command: entry.Command, Args: entry.Args, Entry: text,
			})
		}
		c.errorf("mcp: for %s; this belongs into %s\n", client.title, client.file)
		return writeShown(c.out, text, escape.Block)
	}
	return nil
}

// mcpEntry is the command line of a server with these options. It names the store where that
// is not the default: a client need not have the environment of a shell.
func (c *cli) mcpEntry(o mcpOptions) (mcpEntry, error) {
	program, err := os.Executable()
	if err != nil {
		return mcpEntry{}, fmt.Errorf("where this program is cannot be told: %w", err)
	}
	entry := mcpEntry{Command: program, Args: []string{"mcp"}}
	if c.homeSet || c.env("LOOM_HOME") != "" {
		store, err := c.store()
		if err != nil {
			return mcpEntry{}, err
		}
		entry.Args = append(entry.Args, "--home", store.Home())
	}
	for _, name := range o.only {
		entry.Args = append(entry.Args, "--only", name)
	}
	for _, name := range o.except {
		entry.Args = append(entry.Args, "--except", name)
	}
	if o.warm {
		entry.Args = append(entry.Args, "--warm")
	}
	for _, flag := range []struct{ name, path string }{{"--workspace", c.session.workspace}, {"--record", c.session.record}} {
		if flag.path == "" {
			continue
		}
		path, err := filepath.Abs(flag.path) // a client starts it wherever it likes
		if err != nil {
			return mcpEntry{}, err
		}
		entry.Args = append(entry.Args, flag.name, path)
	}
	if c.jail.BestEffort {
		entry.Args = append(entry.Args, "--best-effort")
	}
	return entry, nil
}

// mcpServerName is what the entry is called in a client's configuration.
const mcpServerName = "loomext"

// jsonEntry renders an entry as a JSON document with the servers under a key.
func jsonEntry(key, kind string) func(mcpEntry) (string, error) {
	return func(entry mcpEntry) (string, error) {
		entry.Type = kind
		var text bytes.Buffer
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		err := enc.Encode(map[string]map[string]mcpEntry{key: {mcpServerName: entry}})
		return text.String(), err
	}
}

// tomlEntry renders an entry as a table of TOML.
func tomlEntry(entry mcpEntry) (string, error) {
	args := make([]string, len(entry.Args))
	for i, arg := range entry.Args {
		args[i] = tomlString(arg)
	}
	return fmt.Sprintf("[mcp_servers.%s]\ncommand = %s\nargs = [%s]\n", mcpServerName, tomlString(entry.Command), strings.Join(args, ", ")), nil
}
