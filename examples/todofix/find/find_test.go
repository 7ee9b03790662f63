package find_test

import (
	"encoding/json"
	"testing"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/fs"
	"github.com/loomext/loomext/prelude/cap/report"

	"example.com/todofix/find"
)

// project is a host with a small tree.
func project(t *testing.T) *captest.Host {
	host := captest.New(t)
	host.Config(map[string]any{"max_files": 10, "max_found": 3})
	dirs := map[string][]fs.Entry{
		".":    {{Name: ".git", IsDir: true}, {Name: "logo.png"}, {Name: "main.go"}, {Name: "src", IsDir: true}, {Name: "vendor", IsDir: true}},
		"src":  {{Name: "a.sh"}},
		"many": {{Name: "many.go"}},
	}
	files := map[string]string{
		"main.go":      "package main\n\n\t// TODO: say hello\n",
		"src/a.sh":     "# FIXME two\n",
		"many/many.go": "// TODO\n// TODO\n// TODO\n// TODO\n",
	}
	host.Handle("fs.list", func(call captest.Call) (captest.Value, error) {
		path, _ := report.StringAt(call.Args, "path")
		if entries, ok := dirs[path]; ok {
			return captest.Entries(entries...), nil
		}
		return captest.Value{}, &cap.Error{Code: cap.CodeNotFound, Msg: path + " is not there"}
	})
	host.Handle("fs.read", func(call captest.Call) (captest.Value, error) {
		path, _ := report.StringAt(call.Args, "path")
		if text, ok := files[path]; ok {
			return captest.Contents(text), nil
		}
		return captest.Value{}, &cap.Error{Code: cap.CodeWrongKind, Msg: path + " is no text"}
	})
	return host
}

func answer(t *testing.T, args string) string {
	t.Helper()
	outcome, err := find.Run(project(t).Ctx(), json.RawMessage(args))
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(outcome.Content)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFindsTheCommentsOfAWorkspace(t *testing.T) {
	outcome, err := find.Run(project(t).Ctx(), json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(outcome.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"Value":{"files":2,"todos":[{"file":"main.go","line":3,"text":"\t// TODO: say hello"},{"file":"src/a.sh","line":1,"text":"# FIXME two"}],"more":false}}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestStopsAtItsBound(t *testing.T) {
	want := `[{"Value":{"files":1,"todos":[{"file":"many/many.go","line":1,"text":"// TODO"},{"file":"many/many.go","line":2,"text":"// TODO"},{"file":"many/many.go","line":3,"text":"// TODO"}],"more":true}}]`
	if got := answer(t, `{"dir": "many"}`); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDirectoryThatIsNotThereIsRefused(t *testing.T) {
	if got := answer(t, `{"dir": "nowhere"}`); got != `fs: list "nowhere": not_found: nowhere is not there` {
		t.Errorf("got %s", got)
	}
}
