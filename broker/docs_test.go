package broker

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/broker/artifact"
	"github.com/loomext/loomext/broker/proc"
	"github.com/loomext/loomext/broker/workspace"
	"github.com/loomext/loomext/egress"
	"github.com/loomext/loomext/internal/wire"
)

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rows are the cells of the tables under a heading, heads and rules left out.
func rows(text, heading string) [][]string {
	_, text, _ = strings.Cut("\n"+text, "\n"+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var found [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| `") && !strings.HasPrefix(line, "| the ") && !strings.HasPrefix(line, "| [`") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		found = append(found, cells)
	}
	return found
}

var backquoted = regexp.MustCompile("`([^`]*)`")

func words(cell string) []string {
	var found []string
	for _, m := range backquoted.FindAllStringSubmatch(cell, -1) {
		found = append(found, m[1])
	}
	return found
}

// example makes a value of a type as the page writes it.
func example(t *testing.T, text string) wire.Value {
	t.Helper()
	inner, list := strings.CutPrefix(text, "[")
	quoted, _, choice := strings.Cut(strings.TrimPrefix(text, `"`), `"`)
	switch {
	case list && strings.HasPrefix(inner, "{"):
		return wire.List(wire.Map(fields(t, strings.TrimSuffix(inner, "…]"))...))
	case list:
		return wire.List(example(t, strings.TrimSuffix(inner, "…]")))
	case choice:
		return wire.String(quoted)
	case text == "json":
		return wire.String("{}")
	case text == "str":
		return wire.String("x")
	case text == "int":
		return wire.Int(1)
	case text == "bin":
		return wire.Bin([]byte("x"))
	case text == "bool":
		return wire.Bool(true)
	case text == "map of str to str":
		return wire.Map(arg("x", wire.String("x")))
	}
	t.Fatalf("the page has the type %q", text)
	return wire.Value{}
}

// fields reads "{key: type, …}". A list of maps is the last of its fields, if there is one.
func fields(t *testing.T, text string) []wire.Field {
	t.Helper()
	text = strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
	var all []wire.Field
	for text != "" {
		key, kind, _ := strings.Cut(text, ": ")
		text = ""
		if !strings.HasPrefix(kind, "[{") {
			kind, text, _ = strings.Cut(kind, ", ")
		}
		all = append(all, arg(key, example(t, kind)))
	}
	return all
}

// TestThePageOfTheProtocolIsWhatIsServed holds the table of capabilities in docs/wire.md to the routes.
func TestThePageOfTheProtocolIsWhatIsServed(t *testing.T) {
	i := asking(t, answering)
	i.scope.broker.artifacts = artifact.Open(t.TempDir())
	var dir string
	i.scope.terms.Workspace, dir = inWorkspace(t)
	i.scope.terms.Proc = commands(t, []string{"x"})
	text := page(t, "wire.md")
	found := map[string]bool{}
	for _, row := range rows(text, "## Capabilities") {
		if len(row) != 4 {
			t.Fatalf("a row has the cells %q", row)
		}
		name, args, value := words(row[0])[0], words(row[2])[0], words(row[3])[0]
		found[name] = true
		r, ok := routes[name]
		if capability := strings.Trim(row[1], "`–"); !ok || capability != r.capability {
			t.Errorf("%s is requested as %q on the page and as %q in the broker", name, capability, r.capability)
			continue
		}
		if r.serve == nil {
			if !strings.Contains(text, "`"+name+"`") || !unserved(text, name) {
				t.Errorf("the page does not say that %s is not served", name)
			}
			continue
		}
		if unserved(text, name) {
			t.Errorf("the page says that %s is not served", name)
		}
		all := fields(t, args)
		if last := len(all) - 1; last >= 0 && all[last].Value.Type() == wire.TypeList { // what stands in its items is exact as well
			items, _ := all[last].Value.AsList()
			inner, _ := items[0].AsMap()
			for at, f := range inner {
				without := append(slices.Clone(inner[:at]), inner[at+1:]...)
				list := append(slices.Clone(all[:last]), arg(all[last].Key, wire.List(wire.Map(without...))))
				refusedWith(t, serve(i, name, list...), wire.CodeInvalidArgument, all[last].Key+"[0]."+f.Key+" is missing; want ")
			}
		}
		for at, f := range all {
			without := append(slices.Clone(all[:at]), all[at+1:]...)
			refusedWith(t, serve(i, name, without...), wire.CodeInvalidArgument, f.Key+" is missing; want ")
			if r := serve(i, name, without...); strings.Contains(r.Fault.Msg, ";") && strings.Count(r.Fault.Msg, ";") > 1 {
				t.Errorf("%s without %s: %s", name, f.Key, r.Fault.Msg)
			}
		}
		there(t, dir, name)
		if name == "proc.run" { // a millisecond is no time for a command
			all[2] = arg("timeout_ms", wire.Int(time.Minute.Milliseconds()))
		}
		switch r := serve(i, name, all...); {
		case r.OK:
			for _, want := range fields(t, value) {
				if got, ok := r.Value.Get(want.Key); !ok || got.Type() != want.Value.Type() {
					t.Errorf("%s answers %s as %v", name, want.Key, got.Type())
				}
			}
			if has, _ := r.Value.AsMap(); len(has) != len(fields(t, value)) {
				t.Errorf("%s answers %d fields; the page has %s", name, len(has), value)
			}
		case name == "net.request" && r.Fault.Code == wire.CodeNetworkOff:
		case name == "proc.run" && strings.Contains(r.Fault.Msg, "jail"): // there is none here
		default:
			t.Errorf("%s with the arguments of the page: %v", name, r.Fault)
		}
	}
	for name := range routes {
		if !found[name] {
			t.Errorf("the page has no row for %s", name)
		}
	}
}

// there puts what a call needs where the page's example of a path leads: a directory for a list, a file else.
func there(t *testing.T, dir, name string) {
	t.Helper()
	at := filepath.Join(dir, "x")
	err := os.RemoveAll(at)
	if name == "fs.list" {
		err = errors.Join(err, os.Mkdir(at, 0o755))
	} else {
		err = errors.Join(err, os.WriteFile(at, []byte("x"), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// unserved reports whether the page lists a name in its sentence of what is not served.
func unserved(text, name string) bool {
	before, _, ok := strings.Cut(text, " not served today.")
	paragraph := before[strings.LastIndex(before, "\n\n")+1:]
	return ok && slices.Contains(words(paragraph), name)
}

// minted are the codes that this package's source names.
func minted(t *testing.T) []string {
	t.Helper()
	named := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Code") && sel.Sel.Name != "Code" {
				named[sel.Sel.Name] = true
			}
			return true
		})
	}
	values := constants(t, "../internal/wire/codes.go")
	var codes []string
	for name := range named {
		codes = append(codes, values[name])
	}
	slices.Sort(codes)
	return codes
}

// constants are the texts of a file's constants, by name.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if text, ok := spec.Values[0].(*ast.BasicLit); ok {
				found[spec.Names[0].Name], _ = strconv.Unquote(text.Value)
			}
		}
		return true
	})
	return found
}

// TestThePagesHaveEveryCode holds the lists of codes in the docs and the constants of prelude/cap to one another and to
// what the broker mints.
func TestThePagesHaveEveryCode(t *testing.T) {
	var protocol []string
	for _, row := range rows(page(t, "wire.md"), "## Codes") {
		if row[0] == "the broker, in a `cap_result`" {
			protocol = words(row[1])
		}
	}
	for _, code := range minted(t) {
		if !slices.Contains(protocol, code) {
			t.Errorf("wire.md does not have the broker's code %s", code)
		}
	}
	constant := constants(t, "../prelude/cap/codes.go")
	authors := slices.Sorted(maps.Values(constant))
	want := slices.Sorted(slices.Values(append(slices.Clone(protocol), wire.CodeGone, wire.CodeProtocol)))
	if !slices.Equal(authors, want) {
		t.Errorf("prelude/cap has the codes\n%q\nand wire.md\n%q", authors, want)
	}
	var told []string
	for _, row := range rows(page(t, "capabilities.md"), "## Errors") {
		code, name := words(row[0])[0], words(row[1])[0]
		told = append(told, code)
		if constant[name] != code {
			t.Errorf("capabilities.md has %s as the constant %s, which is %q", code, name, constant[name])
		}
	}
	slices.Sort(told)
	if got := minted(t); !slices.Equal(told, got) {
		t.Errorf("capabilities.md has the codes\n%q\nand the broker mints\n%q", told, got)
	}
}

func TestThePageForAuthorsHasEveryCapabilityAndBound(t *testing.T) {
	text := page(t, "capabilities.md")
	var named []string
	for _, row := range rows(text, "# Capabilities") {
		pkg, functions, names := words(row[0])[0], words(row[2]), words(row[3])
		named = append(named, names...)
		for _, name := range names {
			if c := routes[name].capability; c != "" && !slices.Contains(words(row[1]), c) {
				t.Errorf("the row of %s does not have the capability %s of %s", pkg, c, name)
			}
		}
		if got := exported(t, filepath.Join("..", "prelude", "cap", pkg)); !slices.Equal(slices.Sorted(slices.Values(functions)), got) {
			t.Errorf("the row of %s has the functions %q; the package has %q", pkg, functions, got)
		}
	}
	slices.Sort(named)
	if want := slices.Sorted(maps.Keys(routes)); !slices.Equal(named, want) {
		t.Errorf("the page has\n%q\nand the broker\n%q", named, want)
	}
	for _, bound := range []string{
		fmt.Sprintf("A name has 1 to %d bytes and a content type 1 to %d.", artifact.MaxName, artifact.MaxContentType),
		fmt.Sprintf("An artifact has at most %d MiB. One invocation emits at most %d artifacts, and %d MiB of them.", artifact.MaxData>>20, maxArtifacts, maxArtifactBytes>>20),
		fmt.Sprintf("A partial has at most %d KiB. One invocation shows at most %s partials, and %d MiB of them;", maxPartial>>10, thousands(maxPartials), maxPartialBytes>>20),
		fmt.Sprintf("and at most %d MiB, since it travels in one frame.", maxFramed>>20),
		fmt.Sprintf("and never more than %d. A redirect", maxRequests),
		fmt.Sprintf("at most %d requests are under way at once", maxLanes),
		fmt.Sprintf("hold %d MiB. What is beyond waits.", maxInFlight>>20),
		fmt.Sprintf("A key has 1 to %d bytes of UTF-8.", maxKey),
		fmt.Sprintf("A value has at most %d KiB,", maxValue>>10),
		fmt.Sprintf("at most %s keys, and keys and values have at most %d MiB together", thousands(maxKeys), maxScratch>>20),
		fmt.Sprintf("at most %s at once (`too_large`)", thousands(maxRandom)),
		fmt.Sprintf("has at most %d MiB, else `too_large`", workspace.MaxFile>>20),
		fmt.Sprintf("more than %s entries is `too_large`", thousands(workspace.MaxEntries)),
		fmt.Sprintf("An edit makes 1 to %d replacements", workspace.MaxEdits),
		fmt.Sprintf("at most %s words, and they have at most %s bytes together. `Stdin` has at most %d MiB.", thousands(proc.MaxArguments), thousands(proc.MaxArgumentBytes), proc.MaxStdin>>20),
		fmt.Sprintf("The first %d MiB of each output is kept", proc.MaxOutput>>20),
		fmt.Sprintf("more than %d MiB is killed: `policy`", proc.MaxFlood>>20),
		fmt.Sprintf("what is left of the invocation, and %d minutes", proc.MaxTimeout/time.Minute),
		fmt.Sprintf("asks at most %d times, and at most %d requests at once, else `policy`", maxAsks, maxAskRequests),
		fmt.Sprintf("has at most %d bytes", maxAskKey),
		fmt.Sprintf("has at most %d KiB as JSON, else `too_large`", maxAskParams>>10),
		fmt.Sprintf("have at most %d MiB", maxAskAnswers>>20),
	} {
		if !strings.Contains(text, bound) {
			t.Errorf("the page does not say %q", bound)
		}
	}
}

// TestTheCommentsOfThePreludeHaveTheBounds holds the numbers that an author reads in an editor to those that hold.
func TestTheCommentsOfThePreludeHaveTheBounds(t *testing.T) {
	for file, bounds := range map[string][]string{
		"kv/kv.go": {
			fmt.Sprintf("A key has 1 to %d bytes and is UTF-8; a value has at most %d KiB.", maxKey, maxValue>>10),
			fmt.Sprintf("There are at most %s keys, and keys and values have at most %d MiB together.", thousands(maxKeys), maxScratch>>20),
		},
		"ask/ask.go": {
			fmt.Sprintf("digits and underscores, at most %d bytes.", maxAskKey),
			fmt.Sprintf("It asks at most %d times, at most %d requests at once, and what one request holds has at most %d KiB as JSON.", maxAsks, maxAskRequests, maxAskParams>>10),
		},
		"fs/fs.go":     {fmt.Sprintf("of at most %d MiB.", workspace.MaxFile>>20), fmt.Sprintf("at most %s entries", thousands(workspace.MaxEntries)), fmt.Sprintf("at most %d replacements", workspace.MaxEdits)},
		"rand/rand.go": {fmt.Sprintf("One call gives at most %s bytes.", thousands(maxRandom))},
		"net/net.go": {
			fmt.Sprintf("than one frame carries, %d MiB;", maxFramed>>20),
			fmt.Sprintf("A request takes at most %d seconds,", egress.RequestTime/time.Second),
		},
		"report/value.go": {
			fmt.Sprintf("a name of 1 to %d bytes and a content type of 1 to %d,", artifact.MaxName, artifact.MaxContentType),
			fmt.Sprintf("at most %d MiB of data; one invocation emits at most %d, and %d MiB together.", artifact.MaxData>>20, maxArtifacts, maxArtifactBytes>>20),
			fmt.Sprintf("at most %d KiB of text, %s of them and %d MiB together.", maxPartial>>10, thousands(maxPartials), maxPartialBytes>>20),
		},
	} {
		text, err := os.ReadFile(filepath.Join("..", "prelude", "cap", file))
		if err != nil {
			t.Fatal(err)
		}
		comment, _, _ := strings.Cut(string(text), "\npackage ")
		comment = strings.ReplaceAll(comment, "\n// ", " ")
		for _, bound := range bounds {
			if !strings.Contains(comment, bound) {
				t.Errorf("the comment of %s does not say %q", file, bound)
			}
		}
	}
}

func thousands(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }

// exported are the functions of a package that take a context, sorted.
func exported(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(dir, err)
	}
	var names []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || f.Recv != nil || len(f.Type.Params.List) == 0 {
				continue
			}
			if sel, ok := f.Type.Params.List[0].Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" {
				names = append(names, f.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestTheCodeOfThePageIsThatOfTheExamples holds every Go block to an example test, which is compiled and run.
func TestTheCodeOfThePageIsThatOfTheExamples(t *testing.T) {
	var examples strings.Builder
	files, err := filepath.Glob("../prelude/cap/*/example_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		examples.Write(text)
	}
	blocks := strings.Split(page(t, "capabilities.md"), "```go\n")[1:]
	if len(blocks) < 5 {
		t.Errorf("the page has %d blocks", len(blocks))
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		if !strings.Contains(examples.String(), code) {
			t.Errorf("no example has\n%s", code)
		}
	}
}
