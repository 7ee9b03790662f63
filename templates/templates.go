// Package templates holds the text of every file that loomext renders, as embedded text/template files.
//
// It holds no logic: package gen fills them in and checks what came out.
package templates

import "embed"

//go:embed *.tmpl new/*.tmpl
var files embed.FS

// Text returns the template of one rendered file, by its path here without the ending: "main.go" for main.go.tmpl. What
// `loomext new` writes is below "new/".
func Text(name string) (string, error) {
	text, err := files.ReadFile(name + ".tmpl")
	return string(text), err
}
