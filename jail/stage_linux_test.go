//go:build amd64 || arm64

package jail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func init() {
	Register("test echo", func() int {
		said, err := io.ReadAll(os.NewFile(3, "question"))
		_, outside := os.Stat("/etc")
		fmt.Printf("%s %v %v %q", said, err, errors.Is(outside, os.ErrNotExist), os.Args[1:])
		return 7
	})
}

func TestAStageRunsBehindTheWalls(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	c, err := StartStage(t.Context(), "test echo", Spec{Files: []*os.File{in}, Stdout: &said, Profile: Build, Limits: Limits{FileBytes: Nothing, CPU: 10 * time.Second}}, Options{})
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteString("hello"); err != nil {
		t.Fatal(err)
	}
	out.Close()
	exit, err := c.Wait()
	if err != nil || exit.Code != 7 {
		t.Errorf("%v, %v: %s", exit, err, c.Stderr())
	}
	hidden := "true"
	if l, _ := c.Report().Layer(layerRoot); l.State != Enforced {
		hidden = "false"
	}
	if want := `hello <nil> ` + hidden + ` ["jailed-stage" "test echo"]`; said.String() != want {
		t.Errorf("the stage says %q, want %q", said.String(), want)
	}
}

func TestStagesThatCannotBeStarted(t *testing.T) {
	refused := func(what, name string, s Spec, o Options) {
		t.Helper()
		c, err := StartStage(context.Background(), name, s, o)
		var fault *Error
		if !errors.As(err, &fault) || fault.Place != "stage" || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil {
			c.Kill()
			_, _ = c.Wait()
		}
	}
	refused("has no stage", "nobody", Spec{}, Options{})
	refused("a program of its own", "test echo", Spec{Path: "/bin/true"}, Options{})
	refused("is not there", "nobody", Spec{}, Options{Helper: filepath.Join(t.TempDir(), "gone")})

	staging.Lock()
	staging.main = false
	staging.Unlock()
	defer func() {
		staging.Lock()
		staging.main = true
		staging.Unlock()
	}()
	refused("does not call jail.Main", "test echo", Spec{}, Options{})
}

// A helper of another version may lack the stage, and says so.
func TestAHelperWithoutTheStage(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := StartStage(t.Context(), "nobody", Spec{Profile: Build}, Options{Helper: path})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := c.Wait(); err != nil || exit.Code != noSuchStage || !strings.Contains(c.Stderr(), `no stage "nobody"`) {
		t.Errorf("%v, %v: %s", exit, err, c.Stderr())
	}
}

// Neither the variable nor the arguments alone make a program a stage.
func TestARoleNeedsBothItsWords(t *testing.T) {
	env := func(value string) func(string) string { return func(string) string { return value } }
	enterStage([]string{"p", stageArgument, "test echo"}, env(""))
	enterStage([]string{"p"}, env("test echo"))
	enterStage([]string{"p", stageArgument, "other"}, env("test echo"))
	enterStage([]string{"p", stageArgument, "test echo", "more"}, env("test echo"))
}
