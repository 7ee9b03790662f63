// Package replay runs the invocations of a record again, against the same extension or a
// changed one, and says what is different.
//
//	r, err := record.Read("audit.jsonl")
//	p := replay.New(replay.Options{Against: func(name string) (*install.Installed, error) {…}})
//	summary, err := p.Run(ctx, r, func(result replay.Result) error {…})
//
// Every effect is answered from the record, and none is performed: a replay reaches no network,
// writes no file, runs no command and asks nobody. An effect is matched by its capability and its
// arguments; of two that are alike the one that was first is given first. One that the record does
// not have is answered with the code unavailable, and is a difference.
//
// The satellites are real and jailed, as they were when the record was made. What a program keeps
// in memory between two invocations is there in a replay too: the invocations of a session run in
// their order, in one satellite.
//
// The package compares and decides nothing: whether a difference is an improvement is its reader's
// to say. It does not compare durations.
//
// Invariants:
//
//   - A record that is replayed against the artifact that made it has no differences, as long as the
//     extension takes time and randomness from the host and its answer does not depend on which of
//     its own goroutines was first.
//   - Nothing that an extension does in a replay has an effect outside of its jail.
//   - When Run returns, no satellite is left.
package replay
