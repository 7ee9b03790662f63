// Package workspace reads and writes the text files of one directory, for code that is not trusted with any other.
//
// [Open] takes the directory once and holds it. A [Workspace] then reads, writes, lists and edits by relative paths.
// docs/workspace.md has what is contained, what is protected and what is not promised.
//
// It is not the judge of who may call it: whether an extension was granted fs_read or fs_write is decided above. It
// keeps no history and undoes nothing.
//
// Invariants:
//
//   - What is opened lies beneath the directory: no "..", no absolute path or link, no link of /proc and no mount leads
//     out. The kernel holds it (openat2), whoever renames what meanwhile; where the kernel has no such call, os.Root does.
//   - Reading follows links that stay beneath. Writing follows none, in no part of the path.
//   - No name that is protected is written, and nothing below it; see [Protected]. The list is only ever added to.
//   - A file is replaced, never changed in place: whoever reads it sees the old text or the new one. So a hard link to a
//     file elsewhere cannot be written through. It can be read, for it is no different from the file.
//   - The directory is not the user's home nor loomext's own, and holds neither: package apart is the judge.
//   - A file that takes another's place lets in nobody whom the other kept out, as far as groups and access lists go.
//   - Regular files alone are read and replaced. Nothing waits for a pipe or a device.
//   - What fails leaves everything as it was, directories that were made on the way included.
//   - An error holds no path but the one it was called with.
package workspace
