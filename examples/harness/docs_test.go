package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loomext/loomext/host"
)

func embedding(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// The page explains this program, so its code is this program's, line for line.
func TestThePagesCodeIsThisProgram(t *testing.T) {
	var program string
	for _, file := range []string{"main.go", "agent.go", "model.go", "transcript.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		program += string(text)
	}
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(embedding(t), -1)
	for _, block := range blocks {
		if !strings.Contains(program, "\n"+block[1]) {
			t.Errorf("docs/embedding.md has what the program has not:\n%s", block[1])
		}
	}
	if len(blocks) < 10 {
		t.Errorf("the page has %d blocks of code, which cannot be all", len(blocks))
	}
}

// firstCells are those of a table's rows, by the heading of its first column.
func firstCells(page, heading string) []string {
	_, table, _ := strings.Cut(page, "\n| "+heading+" |")
	table, _, _ = strings.Cut(table, "\n\n")
	var cells []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllStringSubmatch(table, -1) {
		cells = append(cells, m[1])
	}
	slices.Sort(cells)
	return cells
}

func TestThePageListsEveryKindAndState(t *testing.T) {
	states := []host.State{host.StateUnstarted, host.StateIdle, host.StateAnswering, host.StateDestroyed, host.StateOut}
	if got, want := firstCells(embedding(t), "kind"), names(host.Kinds()); !slices.Equal(got, want) {
		t.Errorf("the page lists the kinds %q, and there are %q", got, want)
	}
	if got, want := firstCells(embedding(t), "state"), names(states); !slices.Equal(got, want) {
		t.Errorf("the page lists the states %q, and there are %q", got, want)
	}
}

func names[T ~string](all []T) []string {
	var texts []string
	for _, one := range all {
		texts = append(texts, string(one))
	}
	slices.Sort(texts)
	return texts
}
