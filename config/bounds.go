package config

import "time"

// The defaults and bounds of the ceilings.
const (
	// DefaultMaxResponseBytes is the ceiling of one response: 32 MiB, beyond what one frame
	// carries to an extension, so that the frame is the bound that an operator meets first.
	DefaultMaxResponseBytes = 32 << 20
	// MaxResponseBytes is the greatest max_response_bytes: 256 MiB. A response is held whole
	// in the memory of the process that serves every session, and a frame carries 16 MiB of it
	// at most; what is beyond this figure is a slip.
	MaxResponseBytes = 256 << 20

	// DefaultTimeout is the ceiling of one invocation.
	DefaultTimeout = 120 * time.Second
	// MaxTimeout is the greatest timeout_ms: ten minutes, the most that a manifest may ask
	// for, so that a greater ceiling would bound nothing.
	MaxTimeout = 10 * time.Minute
)

// MaxHookDeadline is the greatest of deadline_ms: the 20 seconds that the host gives a hook.
const MaxHookDeadline = 20 * time.Second

// HTTPS is the one port that extensions' requests go to.
const HTTPS = 443

// The bounds on the file and on what it names.
const (
	// MaxFile is the size of a config.toml, in bytes: far beyond one that is written by hand.
	MaxFile = 1 << 20
	// maxRootFile is the size of a file of certificates, in bytes. All roots that a system
	// trusts fit.
	maxRootFile = 1 << 20
	// maxRootFiles is how many of them there are. The operator trusts each.
	maxRootFiles = 64
	// maxCertificates is how many certificates one of them holds: three times what a system
	// trusts. Parsing one takes a tenth of a millisecond.
	maxCertificates = 500
	// maxHosts is how many entries resolve and private have: an operator reads each of them.
	maxHosts = 256
	// maxPath is the length of a path, in bytes: the system's own bound.
	maxPath = 4096
	// maxRoute is the length of an entry of resolve, in bytes: a host, two ports and an
	// address, twice over.
	maxRoute = 640
	// maxProxy is the length of a proxy's URL, in bytes: a scheme, a host and a port.
	maxProxy = 512
	// maxCommandWords is how many words a secret's command has, maxArgument how many bytes one
	// of them. What is longer is a script, and belongs into a file.
	maxCommandWords = 32
	maxArgument     = 4096
	// maxExtensions is how many extensions the file speaks of: more than a session has use for.
	maxExtensions = 256
	// maxExtension is the length of an extension's name, in bytes: what a manifest allows.
	maxExtension = 48
)
