// Package tomlfile reads a small TOML file that a person wrote, and says what is wrong with it
// where it is wrong: every fault of the file at once, each with its line, table and key.
//
// A [Format] says what a file is called, how large it may be and which tables and keys it has.
// [Format.Parse] gives the file's [Table], every [Node] of it with its line, and the [Reading]
// that collects faults. [Reading.Open] makes a [Section] of one table, whose methods read
// values of one kind each, record what is wrong and go on. A reader of a format is these calls,
// key by key; [Reading.Faults] is what it has found in the end.
//
// It knows no file's keys and opens no file. Beside the reading it holds what the files of this
// project mean alike by a host, an environment variable and a program, and how a message
// repeats foreign text and guesses at a misspelt word.
//
// Invariants:
//
//   - An unknown key is a fault in every table. Nothing in a file is ignored.
//   - Reading is total and bounded: any bytes give a Table or faults, in time and memory limited
//     by the constants in bounds.go and [Format.MaxBytes].
//   - No message holds a character that a terminal acts on or a reader does not see, or a line
//     break.
package tomlfile
