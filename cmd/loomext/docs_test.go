package main

import (
	"encoding/json"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/loomext/loomext/hookbus"
	"github.com/loomext/loomext/install"
)

func cliDocs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// section is the part of the docs under one heading of level two.
func section(t *testing.T, docs, heading string) string {
	t.Helper()
	_, after, ok := strings.Cut(docs, "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/cli.md has no section %q", heading)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

func TestDocsNameEveryCommandAndFlag(t *testing.T) {
	docs := cliDocs(t)
	root := (&cli{streams: streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard, env: environment()}}).root()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" || cmd.Name() == "exitcodes" {
			continue
		}
		text := section(t, docs, cmd.Name())
		for _, cmd := range append(cmd.Commands(), cmd) {
			cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
				if flag.Name != "help" && !strings.Contains(text, "`--"+flag.Name) {
					t.Errorf("docs/cli.md: %s: --%s is not described", cmd.CommandPath(), flag.Name)
				}
			})
		}
		for _, alias := range cmd.Aliases {
			if !strings.Contains(text, "`"+alias+"`") {
				t.Errorf("docs/cli.md: %s: the alias %s is not described", cmd.Name(), alias)
			}
		}
	}
}

// Every key of every JSON document stands in the section of its command, or in that of the
// document it is part of.
func TestDocsNameEveryJSONKey(t *testing.T) {
	docs := cliDocs(t)
	record := reflect.TypeFor[install.Record]()
	for heading, shape := range map[string]reflect.Type{
		"install": reflect.TypeFor[installResult](),
		"remove":  reflect.TypeFor[removeResult](),
		"list":    reflect.TypeFor[listEntry](),
		"show":    reflect.TypeFor[showResult](),
		"verify":  reflect.TypeFor[verifyResult](),
		"call":    reflect.TypeFor[callResult](),
		"fire": reflect.TypeFor[struct {
			One fireResult
			All fireAllResult
		}](),
		"status":       reflect.TypeFor[hookbus.Snapshot](),
		"test":         reflect.TypeFor[testResult](),
		"check":        reflect.TypeFor[checkResult](),
		"inspect":      reflect.TypeFor[inspectResult](),
		"version":      reflect.TypeFor[versionResult](),
		"new":          reflect.TypeFor[newResult](),
		"vendor":       reflect.TypeFor[vendorResult](),
		"schema":       reflect.TypeFor[schemaResult](),
		"doctor":       reflect.TypeFor[doctorResult](),
		"config":       reflect.TypeFor[configResult](),
		"audit":        reflect.TypeFor[auditEntry](),
		"replay":       reflect.TypeFor[replayEntry](),
		"logs":         reflect.TypeFor[logsEntry](),
		"mcp":          reflect.TypeFor[mcpConfigResult](),
		"artifacts":    reflect.TypeFor[artifactEntry](),
		"The record":   record,
		"The approval": reflect.TypeFor[install.Approval](),
	} {
		text := section(t, docs, heading)
		for _, key := range jsonKeys(shape, shape, map[reflect.Type]bool{}) {
			if !strings.Contains(text, "`"+key+"`") {
				t.Errorf("docs/cli.md: %s: the key %s is not described", heading, key)
			}
		}
	}
}

// jsonKeys lists the keys of a type and of what it holds, but for a record or an approval
// inside something else: those have sections of their own.
func jsonKeys(t, top reflect.Type, seen map[reflect.Type]bool) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t == reflect.TypeFor[json.RawMessage]() {
			return nil
		}
		t = t.Elem()
	}
	own := t == reflect.TypeFor[install.Record]() || t == reflect.TypeFor[install.Approval]()
	if t.Kind() != reflect.Struct || seen[t] || own && t != top || t.PkgPath() == "time" {
		return nil
	}
	seen[t] = true
	var keys []string
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if key != "" && key != "-" {
			keys = append(keys, key)
		}
		keys = append(keys, jsonKeys(t.Field(i).Type, top, seen)...)
	}
	return keys
}

func TestDocsListTheExitStatuses(t *testing.T) {
	if text := section(t, cliDocs(t), "Exit statuses"); !strings.Contains(text, strings.TrimSpace(exitStatuses)) {
		t.Error("docs/cli.md does not hold what `loomext help exitcodes` prints")
	}
}
