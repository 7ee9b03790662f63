package jail

import (
	"strconv"
	"strings"
)

// States of a layer.
const (
	Enforced = "enforced"
	Skipped  = "skipped"
)

const (
	notBuilt = "not built"
	notAsked = "no limit asked for"
)

// Report is what stood around one command, layer by layer in the order of the
// launch.
type Report struct {
	Layers []Layer `json:"layers"`
}

// Layer is one named wall or limit.
type Layer struct {
	Name   string `json:"name"`
	State  string `json:"state"`            // Enforced or Skipped
	Reason string `json:"reason,omitempty"` // why it was skipped
}

// Enforced says that every layer stands. It is false until the last wall is
// built, and false for an empty report.
func (r Report) Enforced() bool {
	for _, l := range r.Layers {
		if l.State != Enforced {
			return false
		}
	}
	return len(r.Layers) > 0
}

// Warning is one line for standard error, naming every layer that does not
// stand, or the empty string when all do.
func (r Report) Warning() string {
	if r.Enforced() {
		return ""
	}
	var names []string
	for _, l := range r.Layers {
		if l.State != Enforced {
			names = append(names, l.Name)
		}
	}
	if len(names) == 0 {
		return "jail: not enforced"
	}
	return "jail: not enforced: " + strings.Join(names, ", ")
}

// Layer is the named layer, and whether the report has it.
func (r Report) Layer(name string) (Layer, bool) {
	for _, l := range r.Layers {
		if l.Name == name {
			return l, true
		}
	}
	return Layer{}, false
}

func quoted(s string) string { return strconv.Quote(s) }
