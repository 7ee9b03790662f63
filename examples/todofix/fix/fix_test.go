package fix_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/captest"

	"example.com/todofix/fix"
)

func TestOneLineIsEdited(t *testing.T) {
	host := captest.New(t)
	host.Handle("fs.edit", func(captest.Call) (captest.Value, error) { return captest.Done(), nil })
	if _, err := fix.Run(host.Ctx(), json.RawMessage(`{"file": "a.go", "line": "// TODO", "replacement": "// done"}`)); err != nil || len(host.Calls()) != 1 {
		t.Errorf("%v after %d calls", err, len(host.Calls()))
	}
}

func TestWhatIsNoCommentIsNotAskedFor(t *testing.T) {
	for _, line := range []string{"x := 1", "// TODO\nos.Exit(1)"} {
		host := captest.New(t)
		args, _ := json.Marshal(map[string]string{"file": "a.go", "line": line, "replacement": ""})
		if _, err := fix.Run(host.Ctx(), args); err == nil || len(host.Calls()) > 0 {
			t.Errorf("%q: %v after %d calls", line, err, len(host.Calls()))
		}
	}
}

func TestLineThatHasChangedIsRefused(t *testing.T) {
	host := captest.New(t)
	host.Refuse("fs.edit", cap.CodeStaleContent, "it is not there")
	_, err := fix.Run(host.Ctx(), json.RawMessage(`{"file": "a.go", "line": "// TODO", "replacement": ""}`))
	if err == nil || !strings.Contains(err.Error(), "look again with find_todos") {
		t.Errorf("got %v", err)
	}
}
