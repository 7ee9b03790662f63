package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/loomext/loomext/internal/tomlfile"
)

// Load reads config.toml in a home. Where there is none it gives [Default], without an error:
// also where there is no home. A link to a file is followed. The error is an [*Error].
func Load(home string) (Config, error) {
	path := filepath.Join(home, FileName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return Default(), nil
	}
	text, problem := readFile(path, MaxFile)
	if problem != nil {
		r := format(home).Begin()
		r.Add(0, "", "", problem.what, problem.fix)
		return Config{}, &Error{r.Faults()}
	}
	c, err := Decode(text, home)
	if err != nil {
		return Config{}, err
	}
	c.Path = path
	return c, nil
}

// unreadable is why a file cannot be read, and what to do.
type unreadable struct{ what, fix string }

// readFile reads a regular file of at most bound bytes. Nothing else is opened: a device may
// act on it, and a pipe would wait for a writer.
func readFile(path string, bound int64) ([]byte, *unreadable) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, cannotRead(err)
	}
	if problem := notAFile(info.Mode()); problem != nil {
		return nil, problem
	}
	// What was a file a moment ago may be a pipe now.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, cannotRead(err)
	}
	defer func() { _ = file.Close() }()
	if info, err = file.Stat(); err != nil {
		return nil, cannotRead(err)
	}
	if problem := notAFile(info.Mode()); problem != nil {
		return nil, problem
	}
	text, err := io.ReadAll(io.LimitReader(file, bound+1))
	if err != nil {
		return nil, cannotRead(err)
	}
	if int64(len(text)) > bound {
		size := max(info.Size(), bound+1) // a file may grow, or not know its size
		return nil, &unreadable{fmt.Sprintf("the file has %d bytes, the bound is %d", size, bound), "name the file that was meant"}
	}
	return text, nil
}

// notAFile names what stands in a file's place.
func notAFile(mode fs.FileMode) *unreadable {
	what := ""
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	default:
		what = "a device"
	}
	return &unreadable{"this is " + what, "put a regular file there, or a link to one"}
}

func cannotRead(err error) *unreadable {
	reason := err
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		reason = pathError.Err
	}
	fix := "correct what keeps it from being read"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fix = "put the file there, or correct the path or the link that leads there"
	case errors.Is(err, fs.ErrPermission):
		fix = "let this user read it"
	}
	return &unreadable{"it cannot be read: " + tomlfile.Printable(reason.Error()), fix}
}
