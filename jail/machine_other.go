//go:build !linux || !(amd64 || arm64)

package jail

// Machine is where a host runs, as far as walls depend on it.
type Machine struct {
	Kernel       string // release
	Distribution string // its name for people, or empty
	Container    string // the kind of container, or empty
}

// ThisMachine says nothing: there are no walls on this system.
func ThisMachine() Machine { return Machine{} }
