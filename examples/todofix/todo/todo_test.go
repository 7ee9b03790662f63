package todo

import "testing"

func TestFind(t *testing.T) {
	for line, want := range map[string]bool{
		"// TODO: later":            true,
		"\t//TODO later":            true,
		"x := 1 // TODO":            true,
		"# FIXME(me): this":         true,
		"/* TODO */":                true,
		" * TODO: in a block":       true,
		"-- TODO: in SQL":           true,
		"<!-- TODO: in a page -->":  true,
		"// http://a // TODO: both": true,
		"":                          false,
		"TODO":                      false,
		"// TODOS are a program":    false,
		"// TODO_LIST":              false,
		"// not a TODO":             false,
		`s := "TODO"`:               false,
	} {
		if got := len(Find(line)) == 1; got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
	found := Find("a\n// TODO: one\r\nb\n# FIXME two")
	if len(found) != 2 || found[0] != (Comment{2, "// TODO: one"}) || found[1] != (Comment{4, "# FIXME two"}) {
		t.Errorf("%+v", found)
	}
}
