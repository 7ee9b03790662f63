// Package config reads the operator's config.toml: how the host reaches the network, the
// host's own ceilings, where a secret's value comes from, how hooks are asked, what is
// protected in a workspace, and what commands may read.
//
// [Load] reads the file of a home, [Decode] a text. Both give a [Config], or an [Error] with
// every fault of the file at once, each with its line, table and key. A home without the file
// is the common case and gives [Default]. docs/config.md describes every key.
//
// It is not policy: whether a request goes out, and who may ask for a secret, is decided by
// the rooms that are given a Config. It opens no connection, runs nothing and holds no secret:
// [SecretSource] says where a value would come from, and whoever needs it reads it then. The
// only files it reads are config.toml and the certificates that it names.
//
// Invariants:
//
//   - An unknown key is a fault in every table. Nothing in the file is ignored.
//   - Nothing comes from the environment, the proxy least of all.
//   - A Config whose Load or Decode succeeded is within every bound of bounds.go, its defaults
//     filled in.
//   - No fault repeats what was written in place of a secret's source, a password in a proxy's
//     URL, or a line that is not TOML.
package config

import (
	"crypto/x509"
	"net/netip"
	"net/url"
	"time"

	"github.com/loomext/loomext/internal/tomlfile"
)

// FileName is the name of the file, in the home.
const FileName = "config.toml"

// Config is what an operator configured. It holds no secret, and may be shared by goroutines
// that do not change it.
type Config struct {
	Path     string // of the file; empty where there is none
	Egress   Egress
	Ceilings Ceilings
	// Secrets are by the name that manifests ask for. The value of a name that is not here
	// comes from the environment variable of that name.
	Secrets map[string]SecretSource
	Hooks   Hooks
	Proc    Proc
	// Extensions are by the name of the extension, which need not be installed.
	Extensions map[string]Extension
	Workspace  Workspace
}

// Workspace is what extensions may do in the directory that a session gives them.
type Workspace struct {
	// Protected are names, and paths relative to the workspace with slashes, that are never written, beside those that
	// never are in any.
	Protected []string
}

// Hooks is how events reach the hooks of extensions.
type Hooks struct {
	// Order is the load order: these first, the others after them by name.
	Order []string
	// Deadline is what an answer may take, by event; 1 ms to [MaxHookDeadline]. An event
	// that is not here has the bus's own.
	Deadline map[string]time.Duration
}

// Extension is what an operator decided about one extension.
type Extension struct {
	// Gate is "closed" or "open": what becomes of a tool call whose gate gives no verdict.
	// Empty is closed.
	Gate string
}

// Egress is how requests leave this machine.
type Egress struct {
	Roots   []*x509.Certificate // trusted beside those of the system
	Resolve []Route             // at most one for a host and port
	Private []string            // sorted; hosts whose address may be loopback or private
	Proxy   *url.URL            // nil: none; https, a host and perhaps a port, nothing else
}

// Route is an address that is dialed in place of a host's own.
type Route struct {
	Host    string // an exact name, lower case
	Port    uint16 // always [HTTPS]
	Address netip.AddrPort
}

// Ceilings are the host's own bounds. What a manifest asks for is clamped to them.
type Ceilings struct {
	MaxResponseBytes int64         // of one response; 1 to [MaxResponseBytes]
	Timeout          time.Duration // of one invocation; 1 ms to [MaxTimeout]
}

// SecretSource is where a secret's value comes from when it is needed. Exactly one field is
// set.
type SecretSource struct {
	File    string   // an absolute path
	Command []string // the program, an absolute path or a name in PATH, and its arguments
}

// Fault is one thing wrong with a config.toml: its line, table and key, what is wrong and what
// to do. Line 0 is the file as a whole.
type Fault = tomlfile.Fault

// Error is all faults of one config.toml, by line. Its text is one line for each, and begins
// with "config: " and the file's path.
type Error struct {
	Faults []Fault // never empty
}

// Error renders one line for each fault.
func (e *Error) Error() string { return tomlfile.Faults(e.Faults).Error() }

// Unwrap gives each fault to errors.As.
func (e *Error) Unwrap() []error { return tomlfile.Faults(e.Faults).Unwrap() }

// Default is the configuration of a home without a config.toml.
func Default() Config {
	return Config{Ceilings: Ceilings{MaxResponseBytes: DefaultMaxResponseBytes, Timeout: DefaultTimeout}}
}
