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

// Layers, in the order of a launch. The limits an [Exit] can name are layers
// as well: see [BoundCPU].
const (
	layerSealed          = "sealed executable"
	layerCgroup          = "cgroup"
	layerNamespaces      = "namespaces"
	layerUser            = "unprivileged user"
	layerRoot            = "root filesystem"
	layerTree            = "process tree"
	layerGroup           = "process group"
	layerDescriptors     = "descriptors"
	layerOutput          = "output cap"
	layerAddress         = "address space limit"
	layerProcesses       = "process limit"
	layerDescriptorLimit = "descriptor limit"
	layerCore            = "core limit"
	layerLocked          = "locked memory limit"
	layerQueues          = "message queue limit"
	layerCapabilities    = "capabilities"
	layerPrivileges      = "no new privileges"
	layerDeath           = "death signal"
	layerLandlock        = "landlock"
	layerEnvironment     = "environment"
	layerFilter          = "system call filter"
)

const (
	notAsked = "no limit asked for"
	leftOut  = "left out"
)

// Level names a jail by the weakest of its walls.
type Level string

// Levels, from the strongest down. Below LevelNoCgroup nothing starts unless the
// operator accepts it.
const (
	LevelFull         Level = "full"
	LevelNoCgroup     Level = "no-cgroup"     // whole-tree limits missing; each process has its own
	LevelNoUser       Level = "no-user"       // the host is root, and so is the program, outside its namespaces
	LevelNoLandlock   Level = "no-landlock"   // the second wall around files is missing
	LevelNoNamespaces Level = "no-namespaces" // Landlock, the filter and the limits hold
	LevelFilterOnly   Level = "filter-only"   // neither namespaces nor Landlock
)

// Default says that the level is one that is accepted without being asked.
func (l Level) Default() bool { return l == LevelFull || l == LevelNoCgroup }

// demanded are the layers without which nothing of an extension starts unless
// the operator accepts it.
func demanded(layer string) bool {
	return layer == layerNamespaces || layer == layerLandlock || layer == layerUser
}

// Report is what stood around one command, layer by layer in the order of the
// launch.
type Report struct {
	// Level sums the layers up. It is empty for a [Plain] program, which has no
	// walls.
	Level  Level   `json:"level,omitempty"`
	Layers []Layer `json:"layers"`
}

// Layer is one named wall or limit.
type Layer struct {
	Name   string `json:"name"`
	State  string `json:"state"`            // Enforced or Skipped
	Reason string `json:"reason,omitempty"` // why it was skipped, or what it cannot hold here
	Errno  string `json:"errno,omitempty"`  // what the kernel answered, as "EPERM"
	Remedy string `json:"remedy,omitempty"` // what the operator can do
}

// newReport sums up the layers of a launch.
func newReport(p Profile, layers []Layer) Report {
	r := Report{Layers: layers}
	if p == Plain {
		return r
	}
	stands := func(name string) bool {
		l, _ := r.Layer(name)
		return l.State == Enforced
	}
	switch ns, files := stands(layerNamespaces), stands(layerLandlock); {
	case !ns && !files:
		r.Level = LevelFilterOnly
	case !ns:
		r.Level = LevelNoNamespaces
	case !files:
		r.Level = LevelNoLandlock
	case !stands(layerUser):
		r.Level = LevelNoUser
	case !stands(layerCgroup):
		r.Level = LevelNoCgroup
	default:
		r.Level = LevelFull
	}
	return r
}

// Warning is one line for standard error where the level is below what is
// demanded by default, naming it and the walls that are missing; else the empty
// string.
func (r Report) Warning() string {
	if r.Level == "" || r.Level.Default() {
		return ""
	}
	var missing []string
	for _, l := range r.Layers {
		if l.State != Enforced && demanded(l.Name) {
			missing = append(missing, l.Name)
		}
	}
	return "jail: level " + string(r.Level) + ": not enforced: " + strings.Join(missing, ", ")
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
