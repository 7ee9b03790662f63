package workspace

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestThePageHasTheNamesAndTheBounds holds docs/workspace.md and docs/config.md to what is in force.
func TestThePageHasTheNamesAndTheBounds(t *testing.T) {
	names := Protected()
	list := "`" + strings.Join(names[:len(names)-1], "`, `") + "` and `" + names[len(names)-1] + "`"
	for page, wants := range map[string][]string{
		"workspace.md": {
			list + ":", fmt.Sprintf("more than %d bytes, and parts of more\nthan %d bytes", MaxPath, MaxName), fmt.Sprintf("begins again, %d times at most", maxRaces),
			"`" + tempPrefix + "…" + tempSuffix + "`", fmt.Sprintf("A new file has %04o and a new directory %04o", filePerm, dirPerm), "once it is an hour old",
		},
		"config.md": {list + "."},
	} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s does not say %q", page, want)
			}
		}
	}
}
