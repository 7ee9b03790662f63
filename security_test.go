package loomext_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every claim in a table of SECURITY.md names the tests that hold it, and these are there.
func TestSecurityClaimsNameTheirTests(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testFunctions(t)
	name := regexp.MustCompile("`(Test[A-Za-z0-9_]*)`")
	for _, found := range name.FindAllStringSubmatch(string(text), -1) {
		if !tests[found[1]] {
			t.Errorf("SECURITY.md names %s, and there is no such test", found[1])
		}
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| wall") || strings.HasPrefix(line, "| level") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !name.MatchString(cells[len(cells)-1]) {
			t.Errorf("SECURITY.md: no test holds this claim: %s", line)
		}
	}
	if least := 15; rows < least {
		t.Errorf("%d claims were found; the tables are not read as they are written", rows)
	}
}

// testFunctions are the names of all tests of the repository.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "third_party"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				tests[f.Name.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
