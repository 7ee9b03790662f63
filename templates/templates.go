// Package templates holds the text of every file that loomext renders, as embedded text/template files.
//
// It holds no logic: package gen fills them in and checks what came out.
package templates

import "embed"

//go:embed *.tmpl
var files embed.FS

// Text returns the template of one rendered file, by the file's base name: "main.go" for main.go.tmpl.
func Text(name string) (string, error) {
	text, err := files.ReadFile(name + ".tmpl")
	return string(text), err
}
