package cap

import "errors"

// The codes that a host answers a capability call with. [CodeOf] reads them out of an error.
const (
	// CodeUnauthorized is a call outside an open invocation, such as one made after the answer.
	CodeUnauthorized = "unauthorized"
	// CodeUnknownCapability is a capability that the host has never heard of.
	CodeUnknownCapability = "unknown_capability"
	// CodeDenied is a capability that the manifest does not request or the operator did not grant, or an effect that is
	// never allowed.
	CodeDenied = "denied"
	// CodeNetworkOff is a web request of an extension that was approved without a [net] table.
	CodeNetworkOff = "network_off"
	// CodeNotAllowed is a web request to a host or by a method that the [net] table does not name.
	CodeNotAllowed = "not_allowed"
	// CodePolicy is a ceiling that was reached: of requests, of bytes, of keys, of reports. The message says which.
	CodePolicy = "policy"
	// CodeNetFailed is a web request that was allowed and failed on its way. It may succeed when it is made again.
	CodeNetFailed = "net_failed"
	// CodeInvalidArgument is an argument that is missing, of the wrong type or of no use. The message names it.
	CodeInvalidArgument = "invalid_argument"
	// CodeNotFound is a file that is not there.
	CodeNotFound = "not_found"
	// CodePermissionDenied is a file that the host may not read or write, or will not for an extension.
	CodePermissionDenied = "permission_denied"
	// CodeWrongKind is a directory where a file was meant, or the other way round.
	CodeWrongKind = "wrong_kind"
	// CodeStaleContent is an edit whose text to find is not in the file, or not once.
	CodeStaleContent = "stale_content"
	// CodeTooLarge is one value that is longer than it may be: a key, a file, a report, a frame.
	CodeTooLarge = "too_large"
	// CodeInTransaction is a call that cannot be made while a transaction is open.
	CodeInTransaction = "in_transaction"
	// CodeUnavailable is something that this host does not serve, or cannot at the moment, such as a secret that is unset.
	CodeUnavailable = "unavailable"
	// CodeDeadline is a call that was out of time: its own, or the invocation's.
	CodeDeadline = "deadline"
)

// The codes of a call that the host gave no answer to.
const (
	// CodeCancelled is a call whose context ended before its answer came.
	CodeCancelled = "cancelled"
	// CodeGone is a call on a channel that is closed. The satellite is about to end.
	CodeGone = "gone"
	// CodeProtocol is an answer that is not of the shape the capability promises.
	CodeProtocol = "protocol"
)

// CodeOf is the code of the [*Error] in an error's tree, or empty where there is none:
//
//	if cap.CodeOf(err) == cap.CodeNetFailed {
//		// once more
//	}
//
// A later host may answer with a code that is not in this list, so treat what you do not know as a failure.
func CodeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e.Code
	}
	return ""
}
