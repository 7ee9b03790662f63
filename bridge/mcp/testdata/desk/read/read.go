// Package read answers with what it was called with.
package read

import (
	"encoding/json"

	"github.com/loomext/loomext/prelude/ext"
)

// Run is the tool.
var Run ext.Tool = func(_ ext.Ctx, args json.RawMessage) (ext.Outcome, error) { return ext.JSON(args) }
