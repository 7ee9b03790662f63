// Package mcp serves installed extensions to the clients of the Model Context
// Protocol: their tools as tools, and where the manifest binds them, as prompts and
// as resources.
//
// A [Bridge] is one session of a host behind one server of the SDK. [Bridge.Serve]
// serves one connection, such as standard input and output; [HTTP] serves many.
// Clients of the revisions up to 2025-11-25 and of the stateless 2026-07-28 are
// served by the same bridge.
//
// It decides nothing about what an extension may do and gives no name to anything but
// what two extensions both have. What is offered comes from the records, so that a
// list is answered before anything runs.
//
// Invariants:
//
//   - What an extension does, whatever that is, fails no other extension's call and
//     never the server. What it prints reaches no standard output.
//   - Whatever a client sends is answered. The end of a client, of a request or of the
//     bridge ends the calls that belong to it, and with the last no satellite is left.
//   - No satellite waits for a client: what a client is too slow for of progress and
//     of printed lines is left out.
//   - What an extension reports and prints while it answers a call goes to the client whose call
//     it is, and to no other.
//   - No two extensions answer for one URI, and every question that a client is asked says whose
//     it is.
//   - An extension's words are text in an answer and nothing else. Texts of this
//     package are told from them by "loomext/code" in the _meta of the result.
//   - Of the artifacts in the home only those of this very session can be read.
package mcp
