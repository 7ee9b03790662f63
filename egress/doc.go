// Package egress is policed HTTPS: a policy and a request go in, a response or a
// typed refusal comes out. It is the one HTTP client of the project.
//
// It knows no extension, no manifest and no file. Who may ask for what is the
// caller's to decide and stands in the [Policy] of each request; what the operator
// of the machine decided stands in the [Options] of the [Client]. It keeps no
// cookies, caches nothing and takes nothing from the environment but what crypto/x509
// reads to find the system's roots.
//
// A request is judged whole before anything is opened: the URL, the method, the
// headers, the body. Then its secrets are read, then [Policy.Spend] is asked, then
// it leaves. A redirect to the same host goes through all of that again.
//
// Invariants:
//
//   - What is sent is what was judged. The URL is read once, by a parser that
//     refuses whatever two parsers could read two ways, and the request is built
//     from what it read.
//   - The address that is connected to is the one that was judged: the check sits
//     on the socket, after every look-up. The certificate is always held against the
//     host of the URL, wherever the connection leads.
//   - A secret goes to its own host, in its own header. No request can name that
//     header, and no response that carries the value back comes out.
//   - What comes back costs bounded memory and time: head, body before and after
//     decompression, interim responses, redirects, and the whole within
//     [RequestTime].
//   - No [Error] holds a byte that came from the network, or a value of ours. What a
//     host's certificate, status line or look-up said is put into words of this
//     package.
//   - Nothing that came from the network is written to the standard logger.
//
// That a response does not carry a secret back is a search for the value in the
// encodings that programs use, in everything that comes out. It stops an origin that
// echoes. An origin that means to tell the value to the extension that talks to it
// can, in an encoding of its own.
package egress
