package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomext/loomext/escape"
)

// mcpClient is a client whose configuration is known.
type mcpClient struct {
	name    string
	title   string
	file    string // where its entry belongs, for a person
	format  string
	render  func(mcpEntry) (string, error)
	connect func(mcpAddress) (string, error)
	secret  string // how it has the token of an address, for a person: of the variable and the title
}

// mcpEntry is how a client starts this program.
type mcpEntry struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

var mcpClients = []mcpClient{
	{"claude", "Claude Code", ".mcp.json of a project, or mcpServers in ~/.claude.json for all", "json", jsonEntry("mcpServers", ""), claudeAddress, inEnvironment},
	{"codex", "Codex", "~/.codex/config.toml", "toml", tomlEntry, codexAddress, inEnvironment},
	{"gemini", "Gemini CLI", ".gemini/settings.json of a project, or ~/.gemini/settings.json for all", "json", jsonEntry("mcpServers", ""), geminiAddress, inEnvironment},
	{"vscode", "VS Code", ".vscode/mcp.json of a workspace", "json", jsonEntry("servers", "stdio"), vscodeAddress, "%[2]s asks for the token, the value of %[1]s, once and keeps it"},
}

// mcpConfigResult is what mcp --print-config --json prints. docs/cli.md describes it.
type mcpConfigResult struct {
	Client   string   `json:"client"`
	File     string   `json:"file"`
	Format   string   `json:"format"`
	Command  string   `json:"command"`
	Args     []string `json:"args"`
	URL      string   `json:"url"`
	TokenEnv string   `json:"token_env"`
	Entry    string   `json:"entry"`
}

func mcpClientNames() []string {
	names := make([]string, len(mcpClients))
	for i, client := range mcpClients {
		names[i] = client.name
	}
	return names
}

// printMCPConfig prints the entry of a client's configuration. What is wrong with the flags that the
// entry repeats is told now: a client keeps to itself what its servers say.
func (c *cli) printMCPConfig(o mcpOptions) error {
	store, err := c.store()
	if err != nil {
		return err
	}
	entry, err := c.mcpEntry(o)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(mcpClients, func(client mcpClient) bool { return client.name == o.client })
	client, address := mcpClients[at], o.http.entry()
	var text string
	if o.http.serves() {
		text, err = client.connect(address)
	} else {
		text, err = client.render(entry)
	}
	if err != nil {
		return err
	}
	c.adviseMCP(store, o, &brokenTold{c: c})
	if o.asJSON {
		return c.printJSON(mcpConfigResult{
			Client: client.name, File: client.file, Format: client.format, Command: entry.Command, Args: entry.Args,
			URL: address.url, TokenEnv: address.tokenEnv, Entry: text,
		})
	}
	c.errorf("mcp: for %s; this belongs into %s\n", client.title, client.file)
	if o.http.serves() {
		c.errorf("mcp: %s\n", address.todo(client, entry))
	}
	return writeShown(c.out, text, escape.Block)
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
	entry.Args = append(entry.Args, o.http.args()...)
	return entry, nil
}

// mcpServerName is what the entry is called in a client's configuration.
const mcpServerName = "loomext"

// jsonEntry renders an entry as a JSON document with the servers under a key.
func jsonEntry(key, kind string) func(mcpEntry) (string, error) {
	return func(entry mcpEntry) (string, error) {
		entry.Type = kind
		return entryJSON(map[string]map[string]mcpEntry{key: {mcpServerName: entry}})
	}
}

// entryJSON is a document as a client's configuration has it.
func entryJSON(document any) (string, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(document)
	return text.String(), err
}

// tomlEntry renders an entry as a table of TOML.
func tomlEntry(entry mcpEntry) (string, error) {
	args := make([]string, len(entry.Args))
	for i, arg := range entry.Args {
		args[i] = tomlString(arg)
	}
	return fmt.Sprintf("[mcp_servers.%s]\ncommand = %s\nargs = [%s]\n", mcpServerName, tomlString(entry.Command), strings.Join(args, ", ")), nil
}
