package broker

import (
	"slices"

	"github.com/loomext/loomext/broker/proc"
	"github.com/loomext/loomext/broker/workspace"
	"github.com/loomext/loomext/manifest"
)

// Terms are what one extension was approved for.
type Terms struct {
	Extension string
	Requested []string      // capabilities, by the manifest's words
	Granted   []string      // the part of them that the operator granted
	Net       *manifest.Net // the [net] table, or nil
	// Workspace is where fs.read and its like work, or nil: they are denied then. Whoever opened it closes it, after the
	// last invocation.
	Workspace *workspace.Workspace
	// Proc runs the commands of the [proc] table over the session's workspace, or is nil: proc.run is denied then.
	Proc *proc.Runner
}

// Scope is one extension in one session. It needs no closing: what it keeps lives as long as it is held.
type Scope struct {
	broker  *Broker
	terms   Terms
	session string
	scratch scratch
	network network
}

// Open makes the scope of one extension in one session. The session is a name for records and has no other meaning.
func (b *Broker) Open(t Terms, session string) *Scope {
	t.Requested, t.Granted = slices.Clone(t.Requested), slices.Clone(t.Granted)
	s := &Scope{broker: b, terms: t, session: session}
	if t.Net != nil {
		s.network = b.network(*t.Net)
	}
	return s
}

// allow judges whether the extension has a capability, by the manifest's word.
func (s *Scope) allow(capability string) *refusal {
	switch {
	case capability == "": // implicit
		return nil
	case !slices.Contains(s.terms.Requested, capability):
		return denied("the extension does not request " + capability + "; name it in requests of its extension.toml")
	case !slices.Contains(s.terms.Granted, capability):
		return denied("the operator did not grant " + capability + " to " + s.terms.Extension + "; install it again and grant " + capability)
	}
	return nil
}
