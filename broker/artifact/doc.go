// Package artifact keeps what extensions hand over to be kept: files with a name and a content type, each under an id.
//
// A [Store] is one directory. An artifact is two files in it, <id>.data with the bytes and <id>.json with what is known
// of them. It is not a cache and not an archive: it holds a bounded amount, and what is oldest goes first.
//
// Invariants:
//
//   - The record is written last and by one rename, and removed first. So an artifact is whole or it is not there,
//     whichever process was killed when; what a killed one leaves is swept by the next that writes, an hour later.
//   - Ids sort by time. One that is not exactly of an id's shape is refused before it becomes a part of a path.
//   - Any number of processes use one directory. None waits for another, so none can stop another.
//   - Files are readable for their owner alone, and nothing is created before the first [Store.Put].
//   - What is younger than an hour stays, so an id that was just handed out can be fetched. Where only that would make
//     room, Put refuses.
package artifact
