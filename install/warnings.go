package install

import (
	"fmt"

	"github.com/loomext/loomext/schema"
	"github.com/loomext/loomext/vet"
)

// maxWarnings is how many warnings an approval has. Beyond it nobody reads them, and the first ones are the causes.
const maxWarnings = 20

// schemaWarnings says where a tool's schema and the type that it decodes its arguments into disagree. The source has passed
// vetting, so that reading it costs little.
func schemaWarnings(pkg vet.Package) []string {
	warnings := []string{}
	packages := schema.Read(pkg.Tree(), pkg.Module())
	for _, t := range pkg.Manifest().Tools() {
		for _, d := range packages.Disagreements(t.Entry, t.Schema) {
			at := t.Parameters
			if d.Pointer == "" {
				at = "tool " + t.Name
			}
			warnings = append(warnings, at+": "+d.Error())
		}
	}
	if more := len(warnings) - maxWarnings; more > 0 {
		warnings = append(warnings[:maxWarnings], fmt.Sprintf("and %d more", more))
	}
	return warnings
}
