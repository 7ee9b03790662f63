package broker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/egress"
)

const (
	// maxSource is what is read of a source, in bytes: the longest secret, and the line end that does not belong to it.
	maxSource = egress.MaxSecret + len("\r\n")
	// commandTime is how long a command may take to say a secret: a password manager that asks a person first.
	commandTime = 10 * time.Second
)

// secrets are the sources of secrets, by the name of the variable. A name that is not there is read from the
// environment. A source is asked anew for each request, so a changed secret needs no restart.
//
// An error names the variable and never repeats the value, nor anything a source said: not the text of a file, not the
// words of a command or what it printed. It reaches the extension.
type secrets map[string]config.SecretSource

func (s secrets) resolve(ctx context.Context, name string) (egress.Secret, error) {
	value, err := s.value(ctx, name)
	if err != nil {
		return egress.Secret{}, err
	}
	secret, err := egress.NewSecret(value)
	if e, ok := errors.AsType[*egress.Error](err); ok {
		return egress.Secret{}, secretError(name, strings.TrimPrefix(e.Msg, "secret: "))
	}
	return secret, err
}

func (s secrets) value(ctx context.Context, name string) ([]byte, error) {
	source, named := s[name]
	switch {
	case !named:
		value, _ := os.LookupEnv(name)
		if value == "" {
			return nil, secretError(name, "the variable is unset or empty where the host runs; set it, or name a file or a command for it under [secrets]")
		}
		return []byte(value), nil
	case source.File != "":
		value, err := fromFile(source.File)
		if err != nil {
			return nil, secretError(name, "its file "+reason(err)+"; look at its entry under [secrets]")
		}
		return trimmed(name, value)
	case len(source.Command) == 0: // a Config that was made by hand
		return nil, secretError(name, "its entry under [secrets] names no source; name a file or a command")
	default:
		value, err := fromCommand(ctx, source.Command)
		if err != nil {
			return nil, secretError(name, "its command "+reason(err)+"; run it by hand to see")
		}
		return trimmed(name, value)
	}
}

func secretError(name, what string) error { return errors.New("the secret " + name + ": " + what) }

// trimmed takes away the one line end that editors and programs leave.
func trimmed(name string, value []byte) ([]byte, error) {
	if line, ended := bytes.CutSuffix(value, []byte("\n")); ended {
		value = bytes.TrimSuffix(line, []byte("\r"))
	}
	if len(value) == 0 {
		return nil, secretError(name, "its source is empty; put the secret there")
	}
	return value, nil
}

// What can be wrong with a source, in words that are safe to repeat.
var (
	errNotRegular = errors.New("is no regular file")
	errTooLong    = errors.New("gives more than " + strconv.Itoa(egress.MaxSecret) + " bytes")
	errNotStarted = errors.New("cannot be started")
	errNotEnded   = errors.New("left a process that holds its output open")
)

// exitError is a command that failed.
type exitError struct{ how string }

func (e exitError) Error() string { return e.how }

// reason is what of an error may be told.
func reason(err error) string {
	for _, known := range []struct {
		err  error
		text string
	}{
		{errNotRegular, errNotRegular.Error()},
		{errTooLong, errTooLong.Error()},
		{errNotEnded, errNotEnded.Error()},
		{context.DeadlineExceeded, "took too long"},
		{context.Canceled, "was called off"},
		{fs.ErrNotExist, "is not there"},
		{exec.ErrNotFound, "is not there"},
		{fs.ErrPermission, "may not be read or run"},
		{errNotStarted, errNotStarted.Error()},
	} {
		if errors.Is(err, known.err) {
			return known.text
		}
	}
	if e, ok := errors.AsType[exitError](err); ok {
		return e.how
	}
	return "failed"
}

func fromFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // links are followed: mounted secrets are such
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // before it is opened, which a pipe would make wait
		return nil, errNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	value, err := io.ReadAll(io.LimitReader(f, int64(maxSource)+1))
	if err != nil {
		return nil, err
	}
	if len(value) > maxSource {
		return nil, errTooLong
	}
	return value, nil
}
