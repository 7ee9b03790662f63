package jail

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A stage is a part of this very program that runs as a jailed child: the program is started anew behind the walls and
// [Main] hands over to the stage before anything else of it runs. The role stands in the environment and in the
// arguments, so that neither alone, as a user may have it, makes a program forget what it is for.
const (
	stageVariable = "LOOMEXT_JAILED_STAGE"
	stageArgument = "jailed-stage"
)

// noSuchStage is the status of a program that was started as a stage it does not have.
const noSuchStage = 120

var staging struct {
	sync.Mutex
	stages map[string]func() int
	main   bool // Main was called, so this program can be started as a stage
}

// Register names a function that a child of this program may run as, and whose result is its exit status. It is called
// from an init function, or at any rate before [Main]. A name is registered once.
func Register(name string, stage func() int) {
	staging.Lock()
	defer staging.Unlock()
	if staging.stages == nil {
		staging.stages = map[string]func() int{}
	}
	if staging.stages[name] != nil {
		panic("jail: the stage " + name + " is registered twice")
	}
	staging.stages[name] = stage
}

// enterStage is the body of [Main]. It returns in a program that was not started as a stage.
func enterStage(args []string, env func(string) string) {
	name := env(stageVariable)
	staging.Lock()
	stage := staging.stages[name]
	staging.main = true
	staging.Unlock()
	if name == "" || len(args) != 3 || args[1] != stageArgument || args[2] != name {
		return
	}
	if stage == nil {
		fmt.Fprintf(os.Stderr, "jail: this program has no stage %q\n", name)
		os.Exit(noSuchStage)
	}
	os.Exit(stage())
}

// StartStage starts a registered stage of this program, or of [Options.Helper] where this program does not call [Main].
// The Spec says all but the program: Path, Image and Args stay empty, and the program is added to what a Build or a Test
// may read.
func StartStage(ctx context.Context, name string, s Spec, o Options) (*Command, error) {
	program, err := stageProgram(name, o)
	if err != nil {
		return nil, err
	}
	if s.Path != "" || s.Image != nil || len(s.Args) > 0 {
		return nil, &Error{Place: "stage", What: "the stage " + quoted(name) + " was given a program of its own"}
	}
	s.Path, s.Args = program, []string{stageArgument, name}
	s.Env = append(slices.Clone(s.Env), stageVariable+"="+name)
	if s.Profile == Build || s.Profile == Test {
		s.ReadOnly = append(append(slices.Clone(s.ReadOnly), program), sharedLibraries(program)...)
	}
	return Start(ctx, s, o)
}

// stageProgram is the program to start, by the name that every link to it ends at.
func stageProgram(name string, o Options) (string, error) {
	staging.Lock()
	self, known := staging.main, staging.stages[name] != nil
	staging.Unlock()
	path := o.Helper
	var err error
	switch {
	case self && known:
		path, err = os.Executable()
	case self && path == "":
		return "", &Error{Place: "stage", What: "this program has no stage " + quoted(name)}
	case path == "":
		return "", &Error{Place: "stage", What: "this program cannot be started as the stage " + quoted(name) + ", for its main does not call jail.Main",
			Fix: "call jail.Main() first in main, or name a loomext binary in jail.Options.Helper"}
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", &Error{Place: "stage", What: "the program of the stage " + quoted(name) + " is not there", Fix: "install it anew, and start the host again", Err: err}
	}
	return path, nil
}

// sharedLibraries is nothing for a static program. Another needs its loader, and the places that loaders look in.
func sharedLibraries(program string) []string {
	f, err := elf.Open(program)
	if err != nil {
		return nil // Start says what is wrong with it
	}
	defer f.Close()
	var all []string
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, min(p.Filesz, longestPath))
		if _, err := p.ReadAt(name, 0); err != nil {
			return nil
		}
		loader := filepath.Clean(strings.TrimRight(string(name), "\x00"))
		for _, dir := range []string{filepath.Dir(loader), "/lib", "/lib64", "/usr/lib", "/usr/lib64"} {
			if info, err := os.Stat(dir); err == nil && info.IsDir() && dir != "/" && filepath.IsAbs(dir) && !slices.Contains(all, dir) {
				all = append(all, dir)
			}
		}
	}
	return all
}

// longestPath is the longest that the kernel takes.
const longestPath = 4096
