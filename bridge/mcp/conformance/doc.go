// Package conformance holds the bridge to the protocol's own programs: the official
// conformance suite for servers, at both revisions that are served, and the command
// line of the MCP Inspector. It has tests and nothing else.
//
// The server under test is the command as it is built, with the extension of
// ../testdata/conformance in a store of its own, behind its jail. Nothing stands
// between the suite and the server, nothing is expected to fail, and a scenario of the
// suite that did not run is a failure.
//
// The suite wants the lists of tools and prompts to change while it watches. An
// extension cannot change what is installed, so it asks, with an artifact, and the
// test is the operator who installs and removes an extension then.
//
// The programs come from the npm registry in the versions and with the digests of
// ../testdata/npm, and so does the Node that runs them. [DirVariable] says where they
// are kept; without it these tests are skipped, and with it they fail where the
// programs cannot be had. "make conformance" sets it.
package conformance

// DirVariable is the environment variable that names the directory in which the
// programs from the npm registry are kept between runs.
const DirVariable = "LOOMEXT_TEST_CONFORMANCE"
