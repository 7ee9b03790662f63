//go:build unix

package broker

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/egress"
)

// canary is a secret's value, or a part of it, that must never be seen.
const canary = "c4n4ry-7f3a"

// write makes a file with a text and gives its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret-"+canary)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func shell(script string) config.SecretSource {
	return config.SecretSource{Command: []string{"sh", "-c", script, canary}}
}

func TestASecretComesFromItsSource(t *testing.T) {
	t.Setenv("FROM_ENV", canary+"\n") // as it is
	t.Setenv("SHADOWED", "not this one")
	linked := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(write(t, canary), linked); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		source config.SecretSource
		want   string
	}{
		"FROM_ENV":   {want: canary + "\n"},
		"SHADOWED":   {config.SecretSource{File: write(t, canary)}, canary},
		"LINE":       {config.SecretSource{File: write(t, canary+"\n")}, canary},
		"DOS":        {config.SecretSource{File: write(t, canary+"\r\n")}, canary},
		"TWO_LINES":  {config.SecretSource{File: write(t, canary+"\n\n")}, canary + "\n"},
		"RETURN":     {config.SecretSource{File: write(t, canary+"\r")}, canary + "\r"},
		"SPACE":      {config.SecretSource{File: write(t, " "+canary+" ")}, " " + canary + " "},
		"LINK":       {config.SecretSource{File: linked}, canary},
		"LONGEST":    {config.SecretSource{File: write(t, strings.Repeat("k", egress.MaxSecret)+"\r\n")}, strings.Repeat("k", egress.MaxSecret)},
		"COMMAND":    {shell("echo " + canary), canary},
		"ARGUMENTS":  {config.SecretSource{Command: []string{"printf", "%s", "$HOME"}}, "$HOME"},
		"NO_INPUT":   {shell("cat; echo " + canary), canary},
		"WITH_NOISE": {shell("echo noise >&2; echo " + canary), canary},
	} {
		sources := secrets{}
		if c.source.File != "" || c.source.Command != nil {
			sources[name] = c.source
		}
		if got, err := sources.value(t.Context(), name); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestASecretIsReadEachTime(t *testing.T) {
	path := write(t, "first")
	s := secrets{"KEY": {File: path}}
	for _, want := range []string{"first", "second"} {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := s.value(t.Context(), "KEY"); err != nil || string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
	}
	t.Setenv("OTHER", "there")
	if _, err := s.value(t.Context(), "OTHER"); err != nil {
		t.Error(err)
	}
	os.Unsetenv("OTHER")
	if got, err := s.value(t.Context(), "OTHER"); err == nil {
		t.Errorf("got %q of an unset variable", got)
	}
}

func TestASourceThatFailsIsNamedAndNotRepeated(t *testing.T) {
	t.Setenv("EMPTY", "")
	fifo := filepath.Join(t.TempDir(), canary)
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), canary)
	for name, c := range map[string]struct {
		source config.SecretSource
		says   string
	}{
		"UNSET":       {says: "the variable is unset or empty where the host runs; set it"},
		"EMPTY":       {says: "the variable is unset or empty"},
		"MISSING":     {config.SecretSource{File: missing}, "its file is not there; look at its entry under [secrets]"},
		"DIRECTORY":   {config.SecretSource{File: t.TempDir()}, "its file is no regular file"},
		"PIPE":        {config.SecretSource{File: fifo}, "its file is no regular file"},
		"LONG":        {config.SecretSource{File: write(t, canary+strings.Repeat("k", egress.MaxSecret))}, "its file gives more than 8192 bytes"},
		"BLANK":       {config.SecretSource{File: write(t, "\n")}, "its source is empty; put the secret there"},
		"NO_PROGRAM":  {config.SecretSource{Command: []string{"no-such-program-" + canary, canary}}, "its command is not there"},
		"NO_PATH":     {config.SecretSource{Command: []string{missing}}, "its command is not there"},
		"NOT_RUN":     {config.SecretSource{Command: []string{write(t, canary)}}, "its command may not be read or run"},
		"EXIT":        {shell("echo " + canary + " | tee /dev/stderr; exit 3"), "its command ended with exit status 3; run it by hand to see"},
		"SIGNAL":      {shell("echo " + canary + "; kill -9 $$"), "its command was ended by a signal"},
		"SILENT":      {shell("echo " + canary + " >&2"), "its source is empty"},
		"ENDLESS":     {shell("while echo " + canary + "; do :; done"), "its command gives more than 8192 bytes"},
		"LEFT_BEHIND": {shell("sleep 1000 & echo " + canary), "its command left a process that holds its output open"},
	} {
		sources := secrets{}
		if c.source.File != "" || c.source.Command != nil {
			sources[name] = c.source
		}
		_, err := sources.value(t.Context(), name)
		if err == nil || !strings.HasPrefix(err.Error(), "the secret "+name+": "+c.says) {
			t.Errorf("%s: %v", name, err)
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(e.Error(), canary) {
				t.Errorf("%s: the error repeats what its source says: %v", name, e)
			}
		}
	}
}

func TestASourceThatIsNoneIsRefused(t *testing.T) {
	_, err := secrets{"KEY": {}}.value(t.Context(), "KEY")
	if err == nil || !strings.Contains(err.Error(), "the secret KEY: its entry under [secrets] names no source") {
		t.Errorf("got %v", err)
	}
}

func TestACommandAndWhatItStartedEndWithTheirContext(t *testing.T) {
	for name, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"was called off": context.WithCancel,
		"took too long": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			return deadlined{ctx}, func() { cancel(context.DeadlineExceeded) }
		},
	} {
		fifo := filepath.Join(t.TempDir(), "fifo")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := end(t.Context())
		failure := make(chan error, 1)
		go func() {
			s := secrets{"KEY": {Command: []string{"sh", "-c", `sleep 1000 >"$0" & wait`, fifo}}}
			_, err := s.value(ctx, "KEY")
			failure <- err
		}()
		grandchild, err := os.Open(fifo) // which waits for its other end
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-failure; err == nil || !strings.Contains(err.Error(), "its command "+name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := io.ReadAll(grandchild); err != nil { // until it is gone
			t.Error(err)
		}
		grandchild.Close()
	}
}

// deadlined is a context whose end is that of a deadline, without the wait for one.
type deadlined struct{ context.Context }

func (d deadlined) Err() error {
	if d.Context.Err() == nil {
		return nil
	}
	return context.Cause(d.Context)
}

// Value hides the context inside, whose end contexts derived from this one would take for theirs.
func (d deadlined) Value(any) any { return nil }

func (d deadlined) Deadline() (time.Time, bool) { return time.Time{}, false }
