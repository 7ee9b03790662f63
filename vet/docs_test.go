package vet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const vettingPage = "../docs/vetting.md"

// TestTheVettingPageListsWhatIsEnforced renders the lists of the page from the rules themselves;
// -update writes them.
func TestTheVettingPageListsWhatIsEnforced(t *testing.T) {
	page, err := os.ReadFile(filepath.FromSlash(vettingPage))
	if err != nil {
		t.Fatal(err)
	}
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
	want := string(page)
	for name, text := range map[string]string{
		"lints":   lints.String(),
		"prelude": code(prelude),
		"std":     code(Std()),
		"denied":  code(seam.Denied),
	} {
		begin, end := "<!-- "+name+" -->\n", "<!-- end -->\n"
		before, rest, ok := strings.Cut(want, begin)
		_, after, ends := strings.Cut(rest, end)
		if !ok || !ends {
			t.Fatalf("%s has no place for %s", vettingPage, name)
		}
		want = before + begin + text + end + after
	}
	if want == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what is enforced; run go test ./vet -update", vettingPage)
	}
	if err := os.WriteFile(filepath.FromSlash(vettingPage), []byte(want), 0o644); err != nil {
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
