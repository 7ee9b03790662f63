package install

import (
	"errors"
	"strings"
)

// Layer is the step of an install, or of a load, that refused. Each has an
// exit status of its own, so that a script can tell them apart.
type Layer string

// The layers, in the order an extension passes them.
const (
	LayerFetch    Layer = "fetch"
	LayerExtract  Layer = "extract"
	LayerManifest Layer = "manifest"
	LayerVetting  Layer = "vetting"
	LayerGenerate Layer = "generate"
	LayerCompile  Layer = "compile"
	LayerRecord   Layer = "record"
	LayerVerify   Layer = "verify"
	LayerJail     Layer = "jail"
	LayerHost     Layer = "host"
)

// Layers lists every layer in the order of its exit status.
func Layers() []Layer {
	return []Layer{
		LayerFetch, LayerExtract, LayerManifest, LayerVetting, LayerGenerate,
		LayerCompile, LayerRecord, LayerVerify, LayerJail, LayerHost,
	}
}

// firstExitStatus is the status of the first layer; the others follow it in order.
const firstExitStatus = 10

// ExitStatus is 10 to 19 for a known layer, and 1, an internal fault, for any other word.
func (l Layer) ExitStatus() int {
	for i, known := range Layers() {
		if l == known {
			return firstExitStatus + i
		}
	}
	return 1
}

// Error is a refusal by one layer.
type Error struct {
	Layer Layer
	Err   error
}

// Error begins every line with the layer, once, whether or not the layer's own
// error already says it. A line that is indented goes on with the one above it.
func (e *Error) Error() string {
	prefix := string(e.Layer) + ": "
	lines := strings.Split(strings.TrimRight(e.Err.Error(), "\n"), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, prefix) && (i == 0 || !strings.HasPrefix(line, " ")) {
			lines[i] = prefix + line
		}
	}
	return strings.Join(lines, "\n")
}

func (e *Error) Unwrap() error { return e.Err }

// refuse gives err a layer, and leaves nil and an error that has one alone.
func refuse(l Layer, err error) error {
	if err == nil {
		return nil
	}
	var has *Error
	if errors.As(err, &has) {
		return err
	}
	return &Error{Layer: l, Err: err}
}

// ErrDeclined is the end of an install that the operator did not approve.
var ErrDeclined = errors.New("not approved; nothing was installed")

// ErrNotInstalled is wrapped by every error about a name that the store does not have.
var ErrNotInstalled = errors.New("not installed")
