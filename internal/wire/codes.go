package wire

// Codes that a satellite's boot runtime mints.
const (
	CodeBadKind     = "bad_kind"    // a hook_call of a kind it does not serve
	CodeBusy        = "busy"        // a second hook_call while one is open
	CodeCrashed     = "crashed"     // the answer panicked; from the host, the process died during the invocation
	CodeUnencodable = "unencodable" // the answer cannot be written as a frame
)

// Codes that the extension runtime mints.
const (
	CodeRefused        = "refused"
	CodeUnknownTool    = "unknown_tool"
	CodeUnhandled      = "unhandled" // no handler for the event: nothing happened
	CodeMismatchedHook = "mismatched_hook"
	CodeBadArguments   = "bad_arguments"
)

// Codes that the host mints for its caller. CodeDeadline is the broker's as well.
const (
	CodeDeadline  = "deadline"
	CodeCancelled = "cancelled"
	CodeGone      = "gone" // the process was not there when it was called
	CodeProtocol  = "protocol"
)

// Codes that the broker mints in a cap_result.
const (
	CodeUnauthorized      = "unauthorized"
	CodeUnknownCapability = "unknown_capability"
	CodeDenied            = "denied"
	CodeNetworkOff        = "network_off"
	CodeNotAllowed        = "not_allowed"
	CodePolicy            = "policy" // a ceiling was reached
	CodeNetFailed         = "net_failed"
	CodeInvalidArgument   = "invalid_argument"
	CodeNotFound          = "not_found"
	CodePermissionDenied  = "permission_denied"
	CodeWrongKind         = "wrong_kind"
	CodeStaleContent      = "stale_content"
	CodeTooLarge          = "too_large"
	CodeInTransaction     = "in_transaction"
	CodeUnavailable       = "unavailable"
)

// Codes that the broker mints for durable state.
const (
	CodeDecode        = "decode"
	CodeEncode        = "encode"
	CodeBound         = "bound"
	CodeSessionAbsent = "session_absent"
	CodeConflict      = "conflict"
	CodeInvalid       = "invalid"
	CodeClosed        = "closed"
)
