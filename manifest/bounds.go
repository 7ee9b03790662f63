package manifest

// The bounds here are far above what an honest extension needs and low enough
// that a hostile one costs its reader next to nothing. Those on every TOML file
// are those of the package that reads it.

// MaxFile is the size of an extension.toml, in bytes. All tools with full
// descriptions fit; positions and values are held in memory twice.
const MaxFile = 256 << 10

// The bounds on single values.
const (
	// MaxName is the length of an extension's name, and of an extension's and a
	// tool's name together. Agents cap tool names at 64 with their prefixes.
	MaxName = 48

	maxVersion       = 64       // no release of anything has a longer one
	maxLicense       = 200      // an expression of about ten licenses; parsing branches on each
	maxDescription   = 1 << 10  // one line on an approval screen
	maxToolText      = 4 << 10  // a tool's description is paid for in every request to a model
	maxPromptSnippet = 400      // one line in a list of tools
	maxPath          = 200      // every file system and archive format carries it
	maxHeader        = 64       // longer than any registered header
	maxFormat        = 128      // a scheme word and a placeholder
	maxArgument      = 256      // one word of a command prefix
	maxURI           = 256      // shown whole on an approval screen, and typed by nobody
	maxFilledURI     = 4 << 10  // one of a template with its variables filled in
	maxMIMEType      = 127      // RFC 6838 allows as many for either half; no registered type has as many in all
	maxConfigKey     = 64       // typed by hand after --set
	maxConfigString  = 8 << 10  // a template or a short document
	maxConfig        = 32 << 10 // canonical JSON; it is compiled into the artifact and recorded
)

// The bounds on counts.
const (
	maxTools        = 64 // a model chooses badly long before
	maxPrompts      = 64 // a person chooses from all of them
	maxResources    = 64 // a client lists them all; a template stands for as many as there are
	maxHosts        = 64 // an operator reads each of them
	maxSecrets      = 16 // an operator reads each of them
	maxCommands     = 64 // an operator reads each of them
	maxCommandWords = 32 // an exact prefix, not a script
	maxCommandEnv   = 16 // an operator reads each of them
)

// The ranges and defaults.
const (
	// DefaultTimeoutMS is a tool's deadline where its table sets none, in
	// milliseconds: a slow web request, and no model waits longer by accident.
	DefaultTimeoutMS = 30_000
	// minTimeoutMS is the least deadline, in milliseconds: a smaller figure is
	// nearly always meant as seconds.
	minTimeoutMS = 100
	// maxTimeoutMS is the greatest deadline, in milliseconds: ten minutes, after
	// which a harness has given up.
	maxTimeoutMS = 600_000

	// DefaultMaxResponseBytes is the size of one response where [net] sets none.
	DefaultMaxResponseBytes = 1 << 20
	// DefaultRequestsPerCall is the number of requests one call may make where
	// [net] sets none.
	DefaultRequestsPerCall = 4

	// DefaultMIMEType is what a resource gives where its table does not say.
	DefaultMIMEType = "text/plain"

	// minMemoryMB is the least memory_mb: an idle satellite holds about 4 MiB,
	// and a Go heap needs room to grow into.
	minMemoryMB = 16
	// maxMemoryMB is the greatest memory_mb: 64 GiB, beyond any host's ceiling.
	maxMemoryMB = 64 << 10
)

// maxInteger is the greatest integer that every JSON reader carries exactly.
const maxInteger = 1 << 53

// The bounds on a tool's JSON Schema.
const (
	// MaxSchema is the size of a schema file, in bytes. A model reads all of it.
	MaxSchema = 32 << 10
	// maxSchemaDepth is how deep the schema's JSON nests.
	maxSchemaDepth = 64
	// maxSubschemas is how many subschemas there are; compiling takes time with
	// the square of it.
	maxSubschemas = 2_000
	// maxChain is how many schemas may apply to one value through each other
	// (allOf in $ref in anyOf …). The validator recurses once for each, at
	// every level of the arguments.
	maxChain = 32
	// maxPattern is the size of one regular expression, in compiled
	// instructions. Matching takes time with size times length of the text.
	maxPattern = 2_000
)

// The bounds on a call's arguments.
const (
	// MaxArguments is the size of a call's arguments, in bytes: a quarter of a
	// frame, and ten times what a model writes at once.
	MaxArguments = 4 << 20
	// maxArgumentDepth is how deep arguments nest. The validator recurses.
	maxArgumentDepth = 64
	// maxArgumentValues is how many values arguments hold.
	maxArgumentValues = 100_000
	// maxWork is what one check may cost, in units of up to two microseconds.
	// Subschemas that refer to each other can ask for exponentially many
	// comparisons; an honest call of three megabytes costs a third of this, and
	// an ordinary one a few dozen.
	maxWork = 500_000
	// maxArgumentFaults is how many faults one check reports.
	maxArgumentFaults = 50
)

// The bounds on what a glance knows.
const (
	// glanceMembers is how many members of an object are told apart: a bit each.
	glanceMembers = 64
	// glanceDigits is how many digits a number has before or after its point, few
	// enough for exact arithmetic.
	glanceDigits = 15
	// glanceLimit is how far from zero a minimum or a maximum is: beyond any number
	// of glanceDigits digits.
	glanceLimit = 1e15
)

// The bounds on numbers in JSON texts. The validator computes with exact
// fractions, and 1e999999999 as an exact fraction fills the memory.
const (
	maxNumberText = 400
	maxExponent   = 400
)

// The bounds on a text that is made canonical.
const (
	maxCanonicalBytes  = 4 << 20
	maxCanonicalDepth  = 64
	maxCanonicalValues = 200_000
)
