package main

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/escape"
)

// usualTokenEnv is the variable that an entry names where --token-env names none: the token of a
// single run can stand in no configuration.
const usualTokenEnv = "LOOMEXT_TOKEN"

// envName is what every client takes for the name of an environment variable.
var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// mcpAddress is how a client connects to a server that runs.
type mcpAddress struct {
	url      string
	tokenEnv string // empty where the server asks for no token
}

// connectable refuses an address that a server can listen on and no client can call, whoever may
// reach it. What is no address settle refuses.
func (o *mcpHTTP) connectable() error {
	name, _, err := splitAddress(o.address)
	if err != nil {
		return nil
	}
	if ip, err := netip.ParseAddr(name); err == nil && ip.IsUnspecified() {
		return usagef("--http %s: a client cannot connect to it; give the address that it reaches the server by", o.address)
	}
	return nil
}

// settleEntry checks what an entry is to have, and an own run does without.
func (o *mcpHTTP) settleEntry() error {
	if !o.serves() {
		return nil
	}
	_, port, err := net.SplitHostPort(o.address)
	if err != nil {
		return err // settle made it
	}
	if port == "0" {
		return usagef("--http %s: a client has to know the port; give the one that the server listens on", o.address)
	}
	if !o.noToken && o.tokenEnv == "" {
		o.tokenEnv = usualTokenEnv
	}
	if !o.noToken && !envName.MatchString(o.tokenEnv) {
		return usagef("--token-env %q: a client's configuration cannot name it; take letters, digits and underscores", o.tokenEnv)
	}
	return nil
}

// entry is what a client has to know, empty where it starts its server.
func (o *mcpHTTP) entry() mcpAddress {
	if !o.serves() {
		return mcpAddress{}
	}
	return mcpAddress{url: "http://" + o.address + mcp.Endpoint, tokenEnv: o.tokenEnv}
}

// args are the flags again, of the server that a client connects to.
func (o *mcpHTTP) args() []string {
	if !o.serves() {
		return nil
	}
	args := []string{"--http", o.address}
	if o.remote {
		args = append(args, "--allow-remote")
	}
	if o.noToken {
		return append(args, "--no-token")
	}
	if o.tokenEnv != "" {
		args = append(args, "--token-env", o.tokenEnv)
	}
	return args
}

// inEnvironment is how most clients have a token.
const inEnvironment = "set %[1]s in the environment that %[2]s is started in"

// todo is what is still to be done for the entry, for a person.
func (a mcpAddress) todo(client mcpClient, server mcpEntry) string {
	words := []string{"loomext"}
	for _, arg := range server.Args {
		words = append(words, shellWord(arg))
	}
	start := "start the server with: " + escape.Line(strings.Join(words, " "))
	if a.tokenEnv == "" {
		return start
	}
	return fmt.Sprintf(client.secret, a.tokenEnv, client.title) + "; " + start + ", with the same " + a.tokenEnv + " in its environment"
}

// bearerHeader are the headers with a token, or none.
func (a mcpAddress) bearerHeader(reference string) map[string]string {
	if a.tokenEnv == "" {
		return nil
	}
	return map[string]string{"Authorization": "Bearer " + reference}
}

// httpServer is a server in a client's document: each client has some of the keys.
type httpServer struct {
	Type    string            `json:"type,omitempty"`
	URL     string            `json:"url,omitempty"`
	HTTPURL string            `json:"httpUrl,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

type httpServers map[string]httpServer

func claudeAddress(a mcpAddress) (string, error) {
	server := httpServer{Type: "http", URL: a.url, Headers: a.bearerHeader("${" + a.tokenEnv + "}")}
	return entryJSON(map[string]httpServers{"mcpServers": {mcpServerName: server}})
}

func geminiAddress(a mcpAddress) (string, error) {
	server := httpServer{HTTPURL: a.url, Headers: a.bearerHeader("${" + a.tokenEnv + "}")}
	return entryJSON(map[string]httpServers{"mcpServers": {mcpServerName: server}})
}

// vscodeInput is something that VS Code asks for once.
type vscodeInput struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	Description string `json:"description"`
	Password    bool   `json:"password"`
}

func vscodeAddress(a mcpAddress) (string, error) {
	const id = mcpServerName + "-token"
	document := struct {
		Servers httpServers   `json:"servers"`
		Inputs  []vscodeInput `json:"inputs,omitempty"`
	}{Servers: httpServers{mcpServerName: {Type: "http", URL: a.url, Headers: a.bearerHeader("${input:" + id + "}")}}}
	if a.tokenEnv != "" {
		document.Inputs = []vscodeInput{{"promptString", id, "The token of loomext mcp: the value of " + a.tokenEnv, true}}
	}
	return entryJSON(document)
}

func codexAddress(a mcpAddress) (string, error) {
	text := fmt.Sprintf("[mcp_servers.%s]\nurl = %s\n", mcpServerName, tomlString(a.url))
	if a.tokenEnv != "" {
		text += "bearer_token_env_var = " + tomlString(a.tokenEnv) + "\n"
	}
	return text, nil
}
