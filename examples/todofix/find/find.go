// Package find is the tool find_todos.
package find

import (
	"path"
	"strings"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/fs"
	"github.com/loomext/loomext/prelude/ext"

	"example.com/todofix/todo"
)

type query struct {
	Dir string `json:"dir"`
}

type config struct {
	MaxFiles int `json:"max_files"`
	MaxFound int `json:"max_found"`
}

type found struct {
	File string `json:"file"`
	todo.Comment
}

type answer struct {
	Files int     `json:"files"` // that were read
	Todos []found `json:"todos"`
	More  bool    `json:"more"` // a bound was reached
}

// Run walks the directory, names before names below them.
var Run = ext.Typed(func(ctx ext.Ctx, q query) (ext.Outcome, error) {
	c, err := ext.Config[config]()
	if err != nil {
		return ext.Outcome{}, err
	}
	w := &walk{ctx: ctx, config: c, answer: answer{Todos: []found{}}}
	if q.Dir == "" {
		q.Dir = "."
	}
	if err := w.dir(q.Dir); err != nil {
		return ext.Outcome{}, err
	}
	return ext.JSON(w.answer)
})

type walk struct {
	ctx    ext.Ctx
	config config
	answer answer
}

// dir walks one directory. That the first cannot be listed is the caller's fault.
func (w *walk) dir(dir string) error {
	entries, err := fs.List(w.ctx, dir)
	if err != nil {
		return ext.Refuse("%v", err)
	}
	w.ctx.Report("looking at " + dir)
	var below []string
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		switch {
		case skipped(e.Name):
		case e.IsDir:
			below = append(below, name)
		default:
			if err := w.file(name); err != nil || w.answer.More {
				return err
			}
		}
	}
	for _, name := range below {
		if err := w.dir(name); err != nil || w.answer.More {
			return err
		}
	}
	return nil
}

// file looks at one file. One that is no text, or may not be read, has no comments.
func (w *walk) file(name string) error {
	if w.answer.Files == w.config.MaxFiles {
		w.answer.More = true
		return nil
	}
	text, err := fs.Read(w.ctx, name)
	switch cap.CodeOf(err) {
	case "":
		if err != nil {
			return err
		}
	case cap.CodeWrongKind, cap.CodeTooLarge, cap.CodePermissionDenied, cap.CodeNotFound, cap.CodeInvalidArgument:
		return nil
	default:
		return err
	}
	w.answer.Files++
	for _, comment := range todo.Find(text) {
		if len(w.answer.Todos) == w.config.MaxFound {
			w.answer.More = true
			return nil
		}
		w.answer.Todos = append(w.answer.Todos, found{File: name, Comment: comment})
	}
	return nil
}

func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"
}
