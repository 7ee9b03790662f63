package config

import (
	"strings"

	"github.com/loomext/loomext/internal/tomlfile"
)

// sourceFix says how a secret's source is written.
const sourceFix = `write { file = "/run/keys/name" } or { command = ["pass", "show", "name"] }`

// secrets reads the [secrets] table. Whoever writes a value where its source belongs must not
// find it in a message or a log, so no fault here repeats a value.
func (d *decoder) secrets(n tomlfile.Node) {
	s, ok := d.faults.Open("secrets", n)
	if !ok {
		return
	}
	for _, name := range s.Values.ByLine() {
		n := s.Values[name]
		if !tomlfile.IsVariable(name) || len(name) > tomlfile.Variable.Bound {
			s.Fault(n, tomlfile.Printable(name), "this is not "+tomlfile.Variable.What, variableFix(name))
		}
		if source, ok := d.source(s, n, name); ok {
			if d.c.Secrets == nil {
				d.c.Secrets = map[string]SecretSource{}
			}
			d.c.Secrets[name] = source
		}
	}
}

// variableFix says what a name should have been.
func variableFix(name string) string {
	if likely := strings.ReplaceAll(strings.ToUpper(name), "-", "_"); likely != name && tomlfile.IsVariable(likely) {
		return "did you mean " + tomlfile.Quote(likely) + "?"
	}
	return "write " + tomlfile.Variable.Rule
}

// source reads where one secret comes from.
func (d *decoder) source(s tomlfile.Section, n tomlfile.Node, name string) (SecretSource, bool) {
	if _, isTable := n.Value.(tomlfile.Table); !isTable {
		s.Fault(n, tomlfile.Printable(name), "expected where the value comes from, found "+n.Kind()+"; the value itself does not belong in this file", sourceFix)
		return SecretSource{}, false
	}
	before := d.faults.Count()
	own, _ := d.faults.OpenAs(tomlfile.Rule{Name: "secrets." + tomlfile.Printable(name), Keys: []string{"file", "command"}}, n)
	file, hasFile := own.Get("file")
	command, hasCommand := own.Get("command")
	var source SecretSource
	if hasFile {
		source.File, _ = d.path(own, file, "file")
	}
	if hasCommand {
		source.Command, _ = own.Argv(command, "command", maxCommandWords, maxArgument)
	}
	switch {
	case hasFile && hasCommand:
		own.Fault(command, "command", "there is a file too, and a value comes from one place", "keep one of the two")
	case !hasFile && !hasCommand && !own.Misspelt("file") && !own.Misspelt("command"):
		own.Fault(n, "", "it does not say where the value comes from", sourceFix)
	}
	return source, d.faults.Count() == before
}
