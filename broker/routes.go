package broker

import (
	"context"

	"github.com/loomext/loomext/internal/wire"
)

// route is what stands behind one wire name.
type route struct {
	capability string // that the manifest requests; empty for what every extension may
	serve      func(i *Invocation, ctx context.Context, a *arguments) (wire.Value, *refusal)
}

// routes are all capabilities, by wire name. One without serve is known and not served here.
var routes = map[string]route{
	"report.emit": {"", (*Invocation).reportEmit},
	"net.request": {"net", (*Invocation).netRequest},
	"fs.read":     {"fs_read", nil},
	"fs.list":     {"fs_read", nil},
	"fs.write":    {"fs_write", nil},
	"fs.edit":     {"fs_write", nil},
	"proc.run":    {"proc", nil},
	"clock.now":   {"clock", (*Invocation).clockNow},
	"rand.bytes":  {"rand", (*Invocation).randBytes},
	"kv.get":      {"kv", (*Invocation).kvGet},
	"kv.set":      {"kv", (*Invocation).kvSet},
	"kv.delete":   {"kv", (*Invocation).kvDelete},
}
