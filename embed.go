// Package loomext carries, as embedded files, every source that a satellite is compiled from: the preludes, the wire
// package they share with the host, and the third-party packages these need.
//
// It stands at the root of the module because an embed pattern cannot climb. It is not the way to use loomext from
// another program; that is package host. What is embedded is exactly what this repository compiles and tests, so a
// satellite never runs a second version of the protocol.
package loomext

import "embed"

//go:generate go run ./internal/thirdparty .

//go:embed LICENSE all:prelude all:internal/wire all:third_party/_src
var sources embed.FS

// Sources is the embedded tree: LICENSE, prelude/, internal/wire/ and third_party/_src/, tests included where the repository has
// them. Package vendorize chooses what of it reaches a satellite.
func Sources() embed.FS { return sources }
