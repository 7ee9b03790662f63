// Package fix is the tool fix_todo.
package fix

import (
	"strings"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/fs"
	"github.com/loomext/loomext/prelude/ext"

	"example.com/todofix/todo"
)

type request struct {
	File        string `json:"file"`
	Line        string `json:"line"`
	Replacement string `json:"replacement"`
}

// Run edits one line of one file. The host changes nothing where the line is not there exactly once.
var Run = ext.Typed(func(ctx ext.Ctx, r request) (ext.Outcome, error) {
	if strings.ContainsAny(r.Line, "\r\n") {
		return ext.Outcome{}, ext.Refuse("line has more than one line; give the line of one comment")
	}
	if len(todo.Find(r.Line)) == 0 {
		return ext.Outcome{}, ext.Refuse("%q is no TODO comment; give a line as find_todos gave it", r.Line)
	}
	edit := fs.Replacement{Find: r.Line, ReplaceWith: r.Replacement}
	if r.Replacement == "" {
		edit.Find += "\n"
	}
	err := fs.Edit(ctx, r.File, []fs.Replacement{edit})
	switch cap.CodeOf(err) {
	case cap.CodeStaleContent:
		return ext.Outcome{}, ext.Refuse("the line is not in %s; look again with find_todos", r.File)
	case cap.CodeInvalidArgument:
		return ext.Outcome{}, ext.Refuse("nothing was changed: %v", err)
	}
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.Text("resolved in " + r.File), nil
})
