package captest

import (
	"encoding/json"

	"github.com/loomext/loomext/prelude/internal/config"
)

// configVariable marks a test that has a configuration. Its value means nothing.
const configVariable = "LOOMEXT_CAPTEST_CONFIG"

// Config gives ext.Config a configuration until the test ends. Any value will do that
// marshals to a JSON object. There is one configuration in a process, so a test that
// sets one cannot be parallel, nor can a test above it, and Config fails it if it is.
// A host that was made with [Open] has no test, so Config panics.
func (h *Host) Config(v any) {
	if h.t == nil {
		panic("captest: Config needs a test; make the host with New")
	}
	h.t.Helper()
	h.t.Setenv(configVariable, "1") // which refuses parallel tests
	document, err := json.Marshal(v)
	if err != nil {
		h.t.Fatalf("captest: config: %v", err)
	}
	giveBack, err := config.Lend(document)
	if err != nil {
		h.t.Fatalf("captest: %v", err)
	}
	h.t.Cleanup(giveBack)
}
