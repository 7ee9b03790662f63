package tomlfile

// The bounds on every file. Each is far above what an honest file needs and low enough that a
// hostile one costs its reader next to nothing.
const (
	// MaxDepth is how deep arrays and inline tables nest. The TOML reader
	// recurses once a level.
	MaxDepth = 16

	// maxKeyParts is how many parts a dotted key has, maxKeyPart how many bytes
	// one of them. The TOML reader renders the whole path of a key, and of each
	// table above it, every time it meets one.
	maxKeyParts = 6
	maxKeyPart  = 128

	// MaxValues is how many keys, values and headers a file holds in all: ten
	// times over what the longest honest one does.
	MaxValues = 4_000

	// MaxFaults is how many faults are reported. Beyond it a person stops
	// reading; the first ones are the causes.
	MaxFaults = 100
)

const (
	// maxQuoted is how much of a foreign text an error message repeats, in bytes.
	maxQuoted = 80
	// maxWord is how long a word may be, in bytes, for a message to look for the
	// one that was meant: beyond it none is near, and comparing costs its square.
	maxWord = 96

	// MaxHost is the length of a host's name, in bytes (DNS).
	MaxHost = 253
	// maxHostLabel is that of one label (DNS).
	maxHostLabel = 63
	// maxVariable is the length of an environment variable's name, in bytes:
	// longer than any in use.
	maxVariable = 128
)
