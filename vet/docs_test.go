package vet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	vettingPage = "../docs/vetting.md"
	lintsPage   = "../docs/lints.md"
)

// TestTheVettingPageListsWhatIsEnforced renders the lists of the page from the rules themselves;
// -update writes them.
func TestTheVettingPageListsWhatIsEnforced(t *testing.T) {
	var lints strings.Builder
	lints.WriteString("| lint | why |\n|---|---|\n")
	for _, lint := range Lints() {
		lints.WriteString("| `" + lint.Name + "` | " + lint.Why + " |\n")
	}
	var prelude []string
	std := map[string]bool{}
	for _, path := range Std() {
		std[path] = true
	}
	seam := CurrentSeam()
	for _, path := range seam.Allow {
		if !std[path] {
			prelude = append(prelude, path)
		}
	}
	holdPage(t, vettingPage, map[string]string{
		"lints":   lints.String(),
		"prelude": code(prelude),
		"std":     code(Std()),
		"denied":  code(seam.Denied),
	})
}

// TestTheLintsPageExplainsEveryLint renders what check --explain prints.
func TestTheLintsPageExplainsEveryLint(t *testing.T) {
	var text strings.Builder
	for _, l := range Lints() {
		text.WriteString("## " + l.Name + "\n\n" + l.Why + "\n\n" + l.Instead + "\n")
		if l.Example != "" {
			text.WriteString("\nRefused, as `" + l.Path + "`:\n\n```go\n")
			for line := range strings.Lines(l.Example) {
				text.WriteString(visible(strings.TrimSuffix(line, "\n")) + "\n")
			}
			text.WriteString("```\n")
		}
		text.WriteString("\n")
	}
	holdPage(t, lintsPage, map[string]string{"lints": text.String()})
}

// holdPage compares the generated parts of a page with what they must be; -update writes them.
func holdPage(t *testing.T, name string, parts map[string]string) {
	t.Helper()
	page, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	want := string(page)
	for part, text := range parts {
		begin, end := "<!-- "+part+" -->\n", "<!-- end -->\n"
		before, rest, ok := strings.Cut(want, begin)
		_, after, ends := strings.Cut(rest, end)
		if !ok || !ends {
			t.Fatalf("%s has no place for %s", name, part)
		}
		want = before + begin + text + end + after
	}
	if want == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what is enforced; run go test ./vet -update", name)
	}
	if err := os.WriteFile(filepath.FromSlash(name), []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// code is a wrapped list of names in code spans.
func code(names []string) string {
	const width = 140
	var out strings.Builder
	column := 0
	for i, name := range names {
		word := "`" + name + "`"
		if i > 0 {
			if column+len(word)+1 > width {
				out.WriteString("\n")
				column = 0
			} else {
				out.WriteString(" ")
				column++
			}
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String() + "\n"
}
