// Package broker judges what extensions ask for and does it: it is the authority behind every cap_call.
//
// A [Broker] is the host's. It opens a [Scope] for one extension in one session, with the [Terms] the extension was
// approved under, and a Scope begins an [Invocation] for each call that a satellite answers. [Invocation.Serve] takes a
// capability's wire name and its arguments and gives the result that goes back. docs/wire.md has the names, and
// docs/capabilities.md what each takes, answers and refuses.
//
// It is not the channel: whether a token is good and whether there is time left was judged by who calls Serve, and what
// comes of a result is decided there. It is not the policy of the network either, which package egress holds; the broker
// says under which terms a request is made, and how many an invocation may make.
//
// Invariants:
//
//   - Every call is judged anew, in this order: the invocation is open, the word is known, the extension requested the
//     capability, the operator granted it, this host serves it, every argument has its type and there is no other, the
//     ceilings of the invocation. The first that fails is the answer.
//   - A ceiling is the smaller of what the manifest asks for and what the host has. Neither is raised by the other.
//   - Two scopes share nothing but the host: not their scratch, not their counts.
//   - What an extension asks of people, and what they answer, is read and bounded both ways: neither side is trusted.
//   - A secret's value goes from its source into one request. No message, log or error has it or a place for it.
//   - An effect ends soon after its context.
package broker
