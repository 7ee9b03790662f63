package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/loomext/loomext/internal/wire"
)

// The permissions of what is new, before the umask: those of anything an editor makes.
const (
	filePerm fs.FileMode = 0o644
	dirPerm  fs.FileMode = 0o755
	// privatePerm is for a file that takes the place of another, until it has the other's.
	privatePerm fs.FileMode = 0o600
)

// maxMakes is how often the directories of a path are made anew when somebody removes them meanwhile.
const maxMakes = 3

// Write makes a text, UTF-8 of at most [MaxFile] bytes without a NUL, the whole of a file. Directories on the way that
// are missing are made. A file that was there keeps its permissions, and whoever reads it sees the old text or the new.
func (w *Workspace) Write(ctx context.Context, path, contents string) error {
	return explain("write", path, w.write(ctx, path, contents))
}

func (w *Workspace) write(ctx context.Context, path, contents string) error {
	at, err := w.target(path)
	if err != nil {
		return err
	}
	if err := writable("contents", contents); err != nil {
		return err
	}
	leave, err := w.alone(ctx, at)
	if err != nil {
		return err
	}
	defer leave()
	for makes := 1; ; makes++ {
		err := w.writeOnce(ctx, at, contents)
		if !errors.Is(err, fs.ErrNotExist) || makes == maxMakes {
			return err
		}
	}
}

// alone enters the workspace to write in a place, in its turn.
func (w *Workspace) alone(ctx context.Context, at place) (leave func(), err error) {
	out, err := w.enter(ctx)
	if err != nil {
		return nil, err
	}
	release, err := w.turns.take(ctx, foldPath(at.parts))
	if err != nil {
		out()
		return nil, err
	}
	return func() {
		release()
		out()
	}, nil
}

func (w *Workspace) writeOnce(ctx context.Context, at place, contents string) error {
	dir, undo, err := w.makeFolder(at.dir())
	if err != nil {
		return err
	}
	defer dir.close()
	before, err := target(dir, at.name())
	if err == nil {
		err = w.replace(ctx, dir, at, contents, before, func() error { return nil })
	}
	undo(err)
	return err
}

// target judges the path of what is to be written.
func (w *Workspace) target(path string) (place, error) {
	at, err := parse(path)
	switch {
	case err != nil:
		return at, err
	case at.text == top:
		return at, refuse(wire.CodeWrongKind, directoryMsg)
	}
	for _, part := range at.parts {
		if isTemp(part) {
			return at, refuse(wire.CodeInvalidArgument, quoted(part)+" is a name that the host gives files under way; take another")
		}
	}
	return at, w.protected.refusal(at)
}

// former is a file that is replaced: what the new one is to be like.
type former struct {
	fs.FileInfo
	access access
}

// target is what has a name now: a file that may be replaced, or nil for nothing.
func target(dir folder, name string) (*former, error) {
	info, err := dir.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := regular(info); err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o222 == 0 {
		return nil, refuse(wire.CodePermissionDenied, "its permissions let nobody write it; the operator can change them")
	}
	// To replace a file takes no permission of its own. Who may not write it shall not get around that.
	before := &former{info, noAccess}
	f, err := dir.open(name, os.O_WRONLY)
	switch {
	case errors.Is(err, syscall.ETXTBSY): // a program that runs: it stays what it is
	case err != nil:
		return nil, err
	default:
		before.access = accessOf(f)
		_ = f.Close()
	}
	return before, nil
}

// writable judges a text that a file is to hold.
func writable(what, text string) error {
	switch {
	case len(text) > MaxFile:
		return tooLarge(what, int64(len(text)))
	case strings.IndexByte(text, 0) >= 0:
		return refuse(wire.CodeInvalidArgument, what+" holds a NUL; only text is written")
	case !utf8.ValidString(text):
		return refuse(wire.CodeInvalidArgument, what+" is no UTF-8; only text is written")
	}
	return nil
}

// makeFolder holds a directory, and makes what is missing of its path. undo takes back what was made if the write that
// it was made for has failed.
func (w *Workspace) makeFolder(at place) (dir folder, undo func(error), err error) {
	dir, err = w.tree.folder(at)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, func(error) {}, err
	}
	if dir, err = w.tree.folder(place{text: top}); err != nil {
		return nil, nil, err
	}
	var made madeDirs
	for _, part := range at.parts {
		next, err := dir.enter(part)
		if errors.Is(err, fs.ErrNotExist) {
			next, err = made.add(dir, part)
		}
		if err != nil {
			dir.close()
			made.undo(err)
			return nil, nil, err
		}
		if !made.holds(dir) {
			dir.close()
		}
		dir = next
	}
	return dir, made.undo, nil
}

// madeDirs are the directories that one write made, each with the one it is in, which is held until undo.
type madeDirs []struct {
	in   folder
	name string
	made bool // by us, and not by somebody else meanwhile
}

func (m *madeDirs) add(in folder, name string) (folder, error) {
	err := in.makeDir(name)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	made := err == nil
	next, err := in.enter(name)
	if err != nil {
		if made {
			_ = in.removeDir(name)
		}
		return nil, err
	}
	*m = append(*m, struct {
		in   folder
		name string
		made bool
	}{in, name, made})
	return next, nil
}

func (m *madeDirs) holds(dir folder) bool { return len(*m) > 0 && (*m)[len(*m)-1].in == dir }

// undo removes what was made, the innermost first, if there was an error. What somebody has put something into stays.
func (m *madeDirs) undo(err error) {
	for i := len(*m) - 1; i >= 0; i-- {
		d := (*m)[i]
		if err != nil && d.made {
			_ = d.in.removeDir(d.name)
		}
		d.in.close()
	}
}

// replace puts a text in the place of a file: a new file beside it is filled and then renamed, which is one step for
// everybody else. unchanged is asked right before it.
func (w *Workspace) replace(ctx context.Context, dir folder, at place, text string, before *former, unchanged func() error) (err error) {
	w.sweep(dir, at.dir())
	perm := filePerm
	if before != nil {
		perm = privatePerm
	}
	temp := tempName()
	f, err := dir.create(temp, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = dir.remove(temp)
		}
	}()
	err = fill(ctx, f, text, before)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	if err := unchanged(); err != nil {
		return err
	}
	if err := w.inPlace(dir, at.dir()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return dir.rename(temp, at.name())
}

// fill writes a new file, and asks the disk to have it: after a power cut the name leads to the old text or to all of
// the new one.
func fill(ctx context.Context, f *os.File, text string, before *former) error {
	for rest := text; rest != ""; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.WriteString(f, rest[:min(len(rest), chunk)])
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	if before != nil {
		if err := before.grant(f); err != nil {
			return err
		}
	}
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // of a disk that has no such thing
		return err
	}
	return nil
}

// inPlace holds that a directory still has the path it was found by: that it has not been moved out of the workspace, or
// to a name that is protected.
func (w *Workspace) inPlace(dir folder, at place) error {
	again, err := w.tree.folder(at)
	if err != nil {
		return err
	}
	defer again.close()
	found, err := again.info()
	if err != nil {
		return err
	}
	held, err := dir.info()
	if err != nil {
		return err
	}
	if !os.SameFile(found, held) {
		return syscall.EAGAIN
	}
	return nil
}
