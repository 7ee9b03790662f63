package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheExtensionInTheDocsWorks writes the extension that docs/authoring.md prints, installs it
// and calls it.
func TestTheExtensionInTheDocsWorks(t *testing.T) {
	page, err := os.ReadFile("../../docs/authoring.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "weather")
	for _, block := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		language, text := block[1], block[2]
		var file string
		switch {
		case language == "toml":
			file = "extension.toml"
		case language == "json":
			file = "schema/forecast.json"
		case strings.HasPrefix(text, "package tool_test\n"):
			file = "tool/tool_test.go"
		case strings.HasPrefix(text, "package tool\n"):
			file = "tool/tool.go"
		case strings.HasPrefix(text, "package gate\n"):
			file = "gate/gate.go"
		default:
			t.Errorf("a block of %s belongs to no file", language)
			continue
		}
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t, sharedCache)
	w.must("install", dir, "--yes")
	out, err := w.command("call", "weather", "forecast", "--args", `{"city": "Bern", "days": 2}`).Output()
	if want := `{"city":"Bern","sky":"clear","units":"metric"}`; err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("the call printed %s, %v; want %s", out, err, want)
	}
}
