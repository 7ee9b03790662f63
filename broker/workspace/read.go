package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/loomext/loomext/internal/wire"
)

const (
	// MaxFile is the size of a file that is read, written or edited, in bytes. A text that a model or a person works on
	// is smaller by far, and a quarter of a frame carries it.
	MaxFile = 4 << 20
	// MaxEntries is how many entries a directory has that is listed. One that has more is no place to look around in.
	MaxEntries = 10_000
	// chunk is how much is read or written between two looks at the context, in bytes: a millisecond's worth.
	chunk = 1 << 20
)

const notRegularMsg = "it is a pipe, a socket or a device; only regular files are read and written"

// Entry is one name in a directory. A link is no directory, wherever it leads.
type Entry struct {
	Name  string
	IsDir bool
}

// Read gives the text of a file: UTF-8 of at most [MaxFile] bytes, without a NUL.
func (w *Workspace) Read(ctx context.Context, path string) (string, error) {
	text, err := w.read(ctx, path)
	// Nobody else has the bytes, and a text is long enough for a copy to show.
	return unsafe.String(unsafe.SliceData(text), len(text)), explain("read", path, err)
}

func (w *Workspace) read(ctx context.Context, path string) ([]byte, error) {
	at, err := parse(path)
	if err != nil {
		return nil, err
	}
	leave, err := w.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	f, err := w.tree.open(at.text)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, _, err := readText(ctx, f)
	return text, err
}

// regular refuses whatever else stands in a file's place.
func regular(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return refuse(wire.CodeWrongKind, directoryMsg)
	case mode.Type() == fs.ModeSymlink:
		return errLink
	default:
		return refuse(wire.CodeWrongKind, notRegularMsg)
	}
}

// readText reads a file to its end, and tells what it was like when it was opened.
func readText(ctx context.Context, f *os.File) ([]byte, fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if err := regular(info); err != nil {
		return nil, nil, err
	}
	if info.Size() > MaxFile {
		return nil, nil, tooLarge("it", info.Size())
	}
	text, err := readAll(ctx, f, int(info.Size()))
	if err != nil {
		return nil, nil, err
	}
	if len(text) > MaxFile {
		return nil, nil, refuse(wire.CodeTooLarge, "it grew beyond "+strconv.Itoa(MaxFile)+" bytes; read it in parts by other means")
	}
	if fault := notText(text); fault != "" {
		return nil, nil, refuse(wire.CodeWrongKind, "it is no text: "+fault+"; only UTF-8 without NUL is read")
	}
	return text, info, nil
}

// readAll reads to the end, or past MaxFile. The size is a guess: files grow, and some do not know theirs.
func readAll(ctx context.Context, f *os.File, size int) ([]byte, error) {
	text := make([]byte, 0, size+1) // and one for the end to be noticed in
	for len(text) <= MaxFile {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(text) == cap(text) {
			text = slices.Grow(text, max(len(text), 512))
		}
		n, err := f.Read(text[len(text):min(cap(text), len(text)+chunk)])
		text = text[:len(text)+n]
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return text, nil
}

// notText says what keeps bytes from being a text, or nothing.
func notText(text []byte) string {
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return "byte " + strconv.Itoa(at) + " is NUL"
	}
	if utf8.Valid(text) {
		return ""
	}
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	return "byte " + strconv.Itoa(at) + " begins no character of UTF-8"
}

func tooLarge(what string, has int64) error {
	return refuse(wire.CodeTooLarge, what+" has "+strconv.FormatInt(has, 10)+" bytes; at most "+strconv.Itoa(MaxFile))
}

// List gives the entries of a directory, by name. Names that are no UTF-8 are left out, for no path reaches them, and so
// are files of [Workspace.Write] that are under way. A directory with more than [MaxEntries] is too_large.
func (w *Workspace) List(ctx context.Context, path string) ([]Entry, error) {
	entries, err := w.list(ctx, path)
	return entries, explain("list", path, err)
}

func (w *Workspace) list(ctx context.Context, path string) ([]Entry, error) {
	at, err := parse(path)
	if err != nil {
		return nil, err
	}
	leave, err := w.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	entries, err := w.tree.list(at.text, MaxEntries)
	if err != nil {
		return nil, err
	}
	if len(entries) > MaxEntries {
		return nil, refuse(wire.CodeTooLarge, "it has more than "+strconv.Itoa(MaxEntries)+" entries; list a directory below it, or read a file whose name is known")
	}
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return !utf8.ValidString(e.Name) || isTemp(e.Name) })
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}
