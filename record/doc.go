// Package record is the record of what extensions did: one file of JSON lines for every
// invocation and every effect of a session, and the bodies that are too long for a line in
// a directory beside it.
//
//	w, err := record.Open("audit.jsonl")
//	s, err := w.Session("s1", version)
//	call, err := s.Begin(extension, record.Invocation{…})
//	err = call.Reach() // before an effect that reaches out of the session
//	effect := call.Effect("net.request", args)
//	effect.End(result)
//	call.End(record.Answer{…})
//
// A line has a type in "t":
//
//	session    a session began
//	extension  an extension, as it was when it was first called
//	call       an invocation began
//	effect     one effect of an open invocation, with its answer
//	answer     an invocation ended
//	end        a session ended
//
// Values are JSON, so that they can be read without a program; value.go says how those that JSON
// does not have are written. What is read back is the value that was recorded, byte for byte.
//
// The package knows the shape of the record and nothing else: it runs no extension, serves no
// effect and decides nothing. A record is what its writer was told, and is not signed: who can
// write the file can change it.
//
// Invariants:
//
//   - A line that was written is whole, or it is the last. What a writer had begun when it was
//     killed is cut off by its reader, and ended by the next writer of the file.
//   - A body is in its directory before a line names it. Its name is the SHA-256 of its bytes.
//   - What led up to an effect that reaches out of its session is in the file when Reach returns, and the
//     lines of its invocation are when End does. All other lines follow within a tenth of a second.
//   - A writer that could not write says so to every later caller: what is not recorded is not to
//     be done.
//   - File and directory are the owner's alone: bodies are whatever the extensions handled. No
//     secret is among them as long as the broker keeps them out of effects, which it does.
package record
