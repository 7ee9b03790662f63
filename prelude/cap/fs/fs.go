// Package fs asks the host for files of the workspace. Read and List are the
// capability fs_read, Write and Edit are fs_write.
//
// The satellite sees no files of its own. A path is read by the host, inside the workspace
// that the session has. It is relative, with slashes, and "." is the workspace itself. Files
// are UTF-8 of at most 4 MiB. A list has at most 10,000 entries, and one call of Edit makes at
// most 256 replacements.
//
// What the host refuses is an [Error], with the codes that any capability has, and not_found,
// permission_denied for what is outside or protected, wrong_kind for what is no text file or,
// in a list, no directory, stale_content for an edit that does not find its text, and
// too_large. A session without a workspace is denied. Package cap has the codes as constants.
package fs

import (
	"context"
	"fmt"
	"strconv"

	"github.com/loomext/loomext/prelude/cap/internal/channel"
	"github.com/loomext/loomext/prelude/cap/report"
)

const (
	capRead  = "fs.read"
	capWrite = "fs.write"
	capList  = "fs.list"
	capEdit  = "fs.edit"
)

// Entry is one name in a directory.
type Entry struct {
	Name  string
	IsDir bool
}

// Replacement is one edit: the text to find, exactly as it stands in the file, and
// what to put in its place.
type Replacement struct {
	Find, ReplaceWith string
}

// Error is an operation on a file that was refused or failed. It wraps a *cap.Error,
// whose code cap.CodeOf tells.
type Error struct {
	// Op is "read", "write", "list" or "edit".
	Op, Path string
	Err      error
}

// Error names the operation, the path and the cause.
func (e *Error) Error() string {
	return "fs: " + e.Op + " " + strconv.Quote(e.Path) + ": " + e.Err.Error()
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Read gives the contents of a file.
func Read(ctx context.Context, path string) (string, error) {
	v, err := channel.Call(ctx, capRead, report.Map(pathField(path)))
	if err != nil {
		return "", &Error{Op: "read", Path: path, Err: err}
	}
	contents, err := report.StringAt(v, "contents")
	if err != nil {
		return "", &Error{Op: "read", Path: path, Err: channel.Misshapen(capRead, err)}
	}
	return contents, nil
}

// Write makes contents the whole of a file, and makes the directories that are missing. A
// file that was there keeps its permissions, and whoever reads it sees the old text or the new.
func Write(ctx context.Context, path, contents string) error {
	_, err := channel.Call(ctx, capWrite, report.Map(
		pathField(path),
		report.Field{Key: "contents", Value: report.String(contents)},
	))
	if err != nil {
		return &Error{Op: "write", Path: path, Err: err}
	}
	return nil
}

// List gives what lies in a directory, by name. A link is no directory, wherever it leads.
func List(ctx context.Context, path string) ([]Entry, error) {
	v, err := channel.Call(ctx, capList, report.Map(pathField(path)))
	if err != nil {
		return nil, &Error{Op: "list", Path: path, Err: err}
	}
	entries, err := readEntries(v)
	if err != nil {
		return nil, &Error{Op: "list", Path: path, Err: channel.Misshapen(capList, err)}
	}
	return entries, nil
}

// Edit makes replacements in a file, in order, all of them or none. Each text has to stand
// exactly once in the file as those before it leave it; places that overlap count as two.
func Edit(ctx context.Context, path string, edits []Replacement) error {
	list := make([]report.Value, 0, len(edits))
	for _, e := range edits {
		list = append(list, report.Map(
			report.Field{Key: "find", Value: report.String(e.Find)},
			report.Field{Key: "replace_with", Value: report.String(e.ReplaceWith)},
		))
	}
	_, err := channel.Call(ctx, capEdit, report.Map(
		pathField(path),
		report.Field{Key: "edits", Value: report.List(list...)},
	))
	if err != nil {
		return &Error{Op: "edit", Path: path, Err: err}
	}
	return nil
}

func pathField(path string) report.Field {
	return report.Field{Key: "path", Value: report.String(path)}
}

func readEntries(v report.Value) ([]Entry, error) {
	list, err := report.ListAt(v, "entries")
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(list))
	for i, item := range list {
		name, err := report.StringAt(item, "name")
		if err != nil {
			return nil, report.Within(fmt.Sprintf("entries[%d]", i), err)
		}
		isDir, err := report.BoolAt(item, "is_dir")
		if err != nil {
			return nil, report.Within(fmt.Sprintf("entries[%d]", i), err)
		}
		entries = append(entries, Entry{Name: name, IsDir: isDir})
	}
	return entries, nil
}
