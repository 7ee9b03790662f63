package main

import (
	"context"
	"crypto/rand"
	"net"
	"net/netip"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/loomext/loomext/bridge/mcp"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/host"
)

// mcpHTTP are the flags of a server that clients connect to.
type mcpHTTP struct {
	address  string // empty where it is not one
	remote   bool
	tokenEnv string
	noToken  bool
}

func (o *mcpHTTP) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.address, "http", "", "serve over HTTP at this address: host:port, or a port of 127.0.0.1")
	flags.BoolVar(&o.remote, "allow-remote", false, "with --http: allow an address that other machines reach")
	flags.StringVar(&o.tokenEnv, "token-env", "", "with --http: the environment variable that holds the bearer token")
	flags.BoolVar(&o.noToken, "no-token", false, "with --http: ask for no token (loopback only)")
}

func (o *mcpHTTP) serves() bool { return o.address != "" }

// settle checks the flags, and makes of the address one that can be listened on.
func (o *mcpHTTP) settle(changed func(string) bool) error {
	if !changed("http") {
		for _, name := range []string{"allow-remote", "token-env", "no-token"} {
			if changed(name) {
				return usagef("--%s goes with --http", name)
			}
		}
		return nil
	}
	switch {
	case o.noToken && o.remote:
		return usagef("--no-token and --allow-remote exclude each other: whoever reaches the address could call every tool")
	case o.noToken && changed("token-env"):
		return usagef("--no-token asks for no token and --token-env for one; give one of them")
	case changed("token-env") && o.tokenEnv == "":
		return usagef("--token-env is empty; name an environment variable, or leave it out for a token of this run")
	}
	name, port, err := splitAddress(o.address)
	if err != nil {
		return err
	}
	if !o.remote && !isLoopback(name) {
		return usagef("--http %s: %s is not loopback, so other machines could reach it; give 127.0.0.1, or add --allow-remote", o.address, name)
	}
	o.address = net.JoinHostPort(name, port)
	return nil
}

// splitAddress is the host and the port of an address. A port alone is one of 127.0.0.1, and so is
// localhost, whatever this machine's files say of that.
func splitAddress(address string) (name, port string, err error) {
	if name, port, err = net.SplitHostPort(address); err != nil {
		name, port = "", address
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", "", usagef("--http %q is no address; give host:port, or a port from 0 to 65535 (0 is any that is free)", address)
	}
	if name == "" || name == "localhost" {
		name = "127.0.0.1"
	}
	return name, port, nil
}

func isLoopback(name string) bool {
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// serveHTTP serves the clients that connect.
func (c *cli) serveHTTP(ctx context.Context, h *host.Host, bridged mcp.Options, o mcpHTTP) error {
	token, err := c.token(o)
	if err != nil {
		return err
	}
	var listening net.ListenConfig
	l, err := listening.Listen(ctx, "tcp", o.address)
	if err != nil {
		return usagef("--http %s: %s; choose another address", o.address, err)
	}
	server, err := mcp.NewHTTP(h, bridged, token)
	if err != nil {
		_ = l.Close()
		return err
	}
	c.tell("mcp: serving at http://" + l.Addr().String() + mcp.Endpoint)
	switch {
	case o.noToken:
		c.tell("mcp: no token is asked for: every program of this machine, whoever runs it, can call the tools")
	case o.tokenEnv != "":
		c.tell("mcp: clients send the token of $" + escape.Line(o.tokenEnv) + " as: Authorization: Bearer …")
	default:
		c.tell("mcp: clients send this token, which is for this run alone: Authorization: Bearer " + token)
	}
	if o.remote {
		c.tell("mcp: other machines can reach this address, and what goes there and back, the token included, is not encrypted; put a proxy with TLS before it")
	}
	return server.Serve(ctx, l)
}

// token is what clients have to send, or empty where they need send nothing.
func (c *cli) token(o mcpHTTP) (string, error) {
	switch {
	case o.noToken:
		return "", nil
	case o.tokenEnv == "":
		return rand.Text(), nil // of at least 128 bits
	}
	token := c.env(o.tokenEnv)
	if token == "" {
		return "", usagef("--token-env %s: that environment variable is not set, or is empty", o.tokenEnv)
	}
	if err := mcp.CheckToken(token); err != nil {
		return "", usagef("--token-env %s: %s", o.tokenEnv, err)
	}
	return token, nil
}
