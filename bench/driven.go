package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/satellite"
)

// bubblewrap is the program that a jailed start is held against, where it is installed.
const bubblewrap = "bwrap"

// driven is a satellite that this program drives with the wire alone, whatever it was started by: the host does the same for
// each, and what is left of a difference is what stands around the process.
type driven struct {
	socket *os.File
	frames *wire.Reader
	frame  []byte
	id     int64
	end    func() error // waits until nothing of it is left
}

func newDriven(socket *os.File, end func() error) *driven {
	return &driven{socket: socket, frames: wire.NewReader(socket, wire.Host), end: end}
}

// starter starts satellites of one artifact in one way.
type starter func(context.Context) (*driven, error)

// unjailed starts an artifact as any program is started.
func unjailed(artifact string, env []string, null *os.File) starter {
	return process([]string{artifact}, env, null)
}

// wrapped starts it with bubblewrap: every namespace, a root that holds the artifact alone, and death with its parent.
func wrapped(program, artifact string, env []string, null *os.File) starter {
	dir, file := filepath.Split(artifact)
	return process([]string{program, "--unshare-all", "--die-with-parent", "--ro-bind", dir, "/", "/" + file}, env, null)
}

func process(argv, env []string, null *os.File) starter {
	return func(context.Context) (*driven, error) {
		ours, theirs, err := socketPair()
		if err != nil {
			return nil, err
		}
		child, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Env: env, Files: []*os.File{null, null, null, theirs}})
		_ = theirs.Close()
		if err != nil {
			_ = ours.Close()
			return nil, err
		}
		return newDriven(ours, func() error {
			state, err := child.Wait()
			if err == nil && !state.Success() {
				err = fmt.Errorf("%s: %s", filepath.Base(argv[0]), state)
			}
			return err
		}), nil
	}
}

// jailed starts it as package satellite does.
func jailed(image *jail.Image, env []string) starter {
	return func(ctx context.Context) (*driven, error) {
		ours, theirs, err := socketPair()
		if err != nil {
			return nil, err
		}
		command, err := jail.Start(ctx, jail.Spec{
			Path: "/satellite", Image: image, Env: env, Files: []*os.File{theirs}, Joined: true, Profile: jail.Satellite,
			Limits: jail.Limits{DataBytes: jail.DataFloor + satellite.DefaultMemory},
		}, jail.Options{})
		_ = theirs.Close()
		if err != nil {
			_ = ours.Close()
			return nil, err
		}
		return newDriven(ours, func() error {
			exit, err := command.Wait()
			if err == nil && !exit.OK() {
				err = errors.New(exit.String())
			}
			return err
		}), nil
	}
}

// call calls a tool and wants its arguments back.
func (d *driven) call(tool string, text []byte) error {
	d.id++
	call := toolCall(text)
	call.Name = tool
	var err error
	if d.frame, err = wire.AppendHookCall(d.frame[:0], d.id, call); err != nil {
		return err
	}
	if _, err = d.socket.Write(d.frame); err != nil {
		return err
	}
	f, err := d.frames.Read()
	switch {
	case err != nil:
		return err
	case f.Kind != wire.KindHookResult || f.ID != d.id:
		return fmt.Errorf("the satellite sent a frame of kind %v with the number %d instead of its answer", f.Kind, f.ID)
	case !f.Result.OK:
		return f.Result.Fault
	}
	return nil
}

// close hangs up, which ends the satellite.
func (d *driven) close() error { return errors.Join(d.socket.Close(), d.end()) }

// seal makes an image of an installed artifact, as a host does once before it launches any of it.
func seal(artifact string) (*jail.Image, error) {
	digest, err := digestOf(artifact)
	if err != nil {
		return nil, err
	}
	return jail.Seal(artifact, digest)
}

// environment is what package satellite starts the image with, asked of the kernel: a copy here could fall behind.
func environment(ctx context.Context, image *jail.Image) ([]string, error) {
	s, err := satellite.Launch(ctx, satellite.Config{Image: image})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	// The kernel lets a launch go before the program has its variables. An answer, even that there is no such tool, comes later.
	var fault *satellite.Error
	if _, err := s.Tool(ctx, "none", []byte("{}"), "", 0); !errors.As(err, &fault) || fault.Host {
		return nil, fmt.Errorf("a satellite without the tool \"none\" answered %v", err)
	}
	text, err := os.ReadFile("/proc/" + strconv.Itoa(s.PID()) + "/environ")
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(text, []byte("LOOM_CAP_SOCK=fd:3\x00")) {
		return nil, fmt.Errorf("a satellite's environment is %q", text)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"), nil
}

// launch launches a satellite of an installed artifact.
func launch(ctx context.Context, artifact string) (*satellite.Satellite, error) {
	image, err := seal(artifact)
	if err != nil {
		return nil, err
	}
	defer image.Close()
	return satellite.Launch(ctx, satellite.Config{Image: image})
}

func digestOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
