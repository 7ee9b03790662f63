package broker

import (
	"context"
	"maps"
	"slices"

	"github.com/loomext/loomext/internal/wire"
)

// route is what stands behind one wire name.
type route struct {
	capability string // that the manifest requests; empty for what every extension may
	serve      func(i *Invocation, ctx context.Context, a *arguments) (wire.Value, *refusal)
	prompt     bool // it waits for a lock at most, or, to keep its order, for the disk
}

// Prompt says of a capability, by its wire name, that serving it waits for nothing that takes its time. Whoever reads a
// satellite may serve it without handing it on.
func Prompt(capability string) bool { return routes[capability].prompt }

// Effects are the wire names of all effects, sorted.
func Effects() []string { return slices.Sorted(maps.Keys(routes)) }

// Requires is the capability that a manifest requests for an effect, by its wire name. It is empty for what every extension
// may, and for what is none.
func Requires(effect string) string { return routes[effect].capability }

// routes are all capabilities, by wire name. One without serve is known and not served here.
var routes = map[string]route{
	"report.emit": {"", (*Invocation).reportEmit, true},
	"net.request": {"net", (*Invocation).netRequest, false},
	"fs.read":     {"fs_read", (*Invocation).fsRead, false},
	"fs.list":     {"fs_read", (*Invocation).fsList, false},
	"fs.write":    {"fs_write", (*Invocation).fsWrite, false},
	"fs.edit":     {"fs_write", (*Invocation).fsEdit, false},
	"proc.run":    {"proc", (*Invocation).procRun, false},
	"clock.now":   {"clock", (*Invocation).clockNow, true},
	"rand.bytes":  {"rand", (*Invocation).randBytes, true},
	"kv.get":      {"kv", (*Invocation).kvGet, true},
	"kv.set":      {"kv", (*Invocation).kvSet, true},
	"kv.delete":   {"kv", (*Invocation).kvDelete, true},
	"ask.input":   {"ask", (*Invocation).askInput, false},
}
