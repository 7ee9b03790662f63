package source

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// tree is files of a test: paths to text.
type tree map[string]string

func (t tree) bytes() map[string][]byte {
	files := map[string][]byte{}
	for p, text := range t {
		files[p] = []byte(text)
	}
	return files
}

// with is a small valid tree and more files.
func with(more tree) tree {
	t := tree{"extension.toml": "[extension]\n", "tool/run.go": "package tool\n", "schema/tool.json": "{}"}
	maps.Copy(t, more)
	return t
}

func TestKeepsAndPrunes(t *testing.T) {
	for _, test := range []struct {
		name   string
		more   tree
		kept   []string // beside the base tree's
		pruned []string
	}{
		{name: "nothing more"},
		{name: "readme and license", more: tree{"README.md": "", "LICENSE": "", "LICENSE-MIT": "", "README": ""},
			kept: []string{"LICENSE", "LICENSE-MIT", "README", "README.md"}},
		{name: "unlisted files at the root", more: tree{"Makefile": "", "go.sum": "", "CHANGELOG.md": "", "readme.md": "", "a.c": ""},
			pruned: []string{"CHANGELOG.md", "Makefile", "a.c", "go.sum", "readme.md"}},
		{name: "names with a dot in front", more: tree{".git/config": "", ".golangci.yml": "", "tool/.x.go": "", "skills/.x": ""},
			pruned: []string{".git/", ".golangci.yml", "skills/.x", "tool/.x.go"}},
		{name: "tests, testdata, docs and vendor at every depth",
			more: tree{"vendor/a/b.go": "", "testdata/x.go": "", "docs/a.md": "", "tool/vendor/b.s": "", "tool/testdata/x.c": "",
				"tool/docs/x.md": "", "tool/run_test.go": "", "x_test.go": ""},
			pruned: []string{"docs/", "testdata/", "tool/docs/", "tool/run_test.go", "tool/testdata/", "tool/vendor/", "vendor/", "x_test.go"}},
		{name: "documents keep their own docs", more: tree{"skills/a/docs/x.md": "", "skills/a/b c.md": ""},
			kept: []string{"skills/a/b c.md", "skills/a/docs/x.md"}},
		{name: "directories with nothing to keep", more: tree{"assets/logo.png": "", "assets/x/y.c": "", "assets/données": ""},
			pruned: []string{"assets/"}},
		{name: "a directory that only leads to a package", more: tree{"lib/notes.txt": "", "lib/a/a.go": "", "lib/b/b.txt": ""},
			kept: []string{"lib/a/a.go"}, pruned: []string{"lib/b/", "lib/notes.txt"}},
		{name: "underscore directories", more: tree{"_x/a.go": "", "tool/_y/b.go": ""}, kept: []string{"_x/a.go", "tool/_y/b.go"}},
		{name: "a root package", more: tree{"lib.go": "", "Makefile": ""}, kept: []string{"lib.go"}, pruned: []string{"Makefile"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := with(test.more)
			got := fromBoth(t, all)
			want := append([]string{"extension.toml", "schema/tool.json", "tool/run.go"}, test.kept...)
			slices.Sort(want)
			if !slices.Equal(got.Paths(), want) {
				t.Errorf("kept %q, want %q", got.Paths(), want)
			}
			if !slices.Equal(got.Pruned(), test.pruned) {
				t.Errorf("pruned %q, want %q", got.Pruned(), test.pruned)
			}
			for _, p := range want {
				if data, ok := got.File(p); !ok || string(data) != all[p] {
					t.Errorf("File(%q) = %q, %v", p, data, ok)
				}
			}
		})
	}
}

// fromBoth makes the tree in memory and from a directory, and insists that they agree.
func fromBoth(t *testing.T, files tree) Tree {
	t.Helper()
	mem, err := FromFiles(files.bytes(), "memory")
	if err != nil {
		t.Fatal(err)
	}
	disk, err := Open(t.Context(), onDisk(t, files))
	if err != nil {
		t.Fatal(err)
	}
	if mem.Digest() != disk.Digest() || !slices.Equal(mem.Paths(), disk.Paths()) || !slices.Equal(mem.Pruned(), disk.Pruned()) ||
		!slices.Equal(mem.Packages(), disk.Packages()) || mem.Module() != disk.Module() {
		t.Fatalf("a directory and the same files in memory differ: %v %v", disk, mem)
	}
	return disk
}

func TestRefuses(t *testing.T) {
	long := strings.Repeat("a/", 90) + strings.Repeat("b", 30) + ".go"
	for _, test := range []struct {
		name string
		more tree
		path string
		what string
	}{
		{"a file beside Go", tree{"tool/notes.txt": ""}, "tool/notes.txt", "beside Go files"},
		{"assembly beside Go", tree{"tool/x_amd64.s": ""}, "tool/x_amd64.s", "beside Go files"},
		{"an object beside Go", tree{"tool/x.syso": ""}, "tool/x.syso", "beside Go files"},
		{"a header beside Go", tree{"_x/a.go": "", "_x/x.h": ""}, "_x/x.h", "beside Go files"},
		{"assembly in a root package", tree{"lib.go": "", "x.s": ""}, "x.s", "root package"},
		{"a second module beside Go", tree{"tool/go.mod": "module a.b/c"}, "tool/go.mod", "second module"},
		{"a second module above Go", tree{"sub/go.mod": "module a.b/c", "sub/p/p.go": ""}, "sub/go.mod", "second module"},
		{"Go among schemas", tree{"schema/gen.go": ""}, "schema/gen.go", "among documents"},
		{"Go among skills", tree{"skills/a/x.go": ""}, "skills/a/x.go", "among documents"},
		{"loom_satellite", tree{"loom_satellite/x.go": ""}, "loom_satellite", "the build writes"},
		{"loom_satellite without Go", tree{"loom_satellite/x.txt": ""}, "loom_satellite", "the build writes"},
		{"loom_satellite below", tree{"lib/loom_satellite/x.go": ""}, "lib/loom_satellite", "the build writes"},
		{"loom_satellite in capitals", tree{"Loom_Satellite/x.go": ""}, "Loom_Satellite", "only in case"},
		{"vendor in capitals", tree{"Vendor/x.go": ""}, "Vendor", "only in case"},
		{"two files that differ in case", tree{"tool/Run.go": ""}, "tool/run.go", "only in case"},
		{"two directories that differ in case", tree{"Tool/x.go": ""}, "tool", "only in case"},
		{"a control character", tree{"tool/a\x1b[2J.go": ""}, "tool/a\x1b[2J.go", "control character 0x1b"},
		{"a newline at the root", tree{"a\nb": ""}, "a\nb", "control character 0x0a"},
		{"letters beyond ASCII", tree{"töol/x.go": ""}, "töol", "not ASCII"},
		{"bytes that are no text", tree{"tool/\xff.go": ""}, "tool/\xff.go", "not ASCII"},
		{"a backslash", tree{`tool/a\b.go`: ""}, `tool/a\b.go`, "special on another system"},
		{"a dash in front", tree{"-x.go": ""}, "-x.go", "begins with a dash"},
		{"a dash in front of a directory", tree{"-x/x.go": ""}, "-x", "begins with a dash"},
		{"a dot at the end", tree{"skills/a.": ""}, "skills/a.", "ends with a dot"},
		{"a space at the end", tree{"skills/a ": ""}, "skills/a ", "ends with a space"},
		{"a device of Windows", tree{"skills/nul.md": ""}, "skills/nul.md", "Windows reserves"},
		{"a port of Windows", tree{"tool/Com1.x.go": ""}, "tool/Com1.x.go", "Windows reserves"},
		{"a space in a package", tree{"my tool/x.go": ""}, "my tool/x.go", "no import path"},
		{"a shell character in a Go file", tree{"tool/x$.go": ""}, "tool/x$.go", `a name with "$"`},
		{"a directory like a file", tree{"x.go/y.txt": ""}, "x.go", "named like a Go file"},
		{"a manifest that is a directory", tree{"go.mod/x": ""}, "go.mod", "is a directory"},
		{"a workspace that is a directory", tree{"go.work/x.go": ""}, "go.work", "is a directory"},
		{"a large file", tree{"tool/x.go": strings.Repeat(" ", MaxFile+1)}, "tool/x.go", "262145 bytes; at most 262144"},
		{"a large go.mod", tree{"go.mod": strings.Repeat(" ", MaxFile+1)}, "go.mod", "262145 bytes; at most 262144"},
		{"a long path", tree{strings.Repeat("abcdefghi/", 20) + "x.go": ""}, strings.Repeat("abcdefghi/", 20) + "x.go", "204 bytes"},
		{"a deep path", tree{long: ""}, strings.TrimSuffix(strings.Repeat("a/", MaxDepth+1), "/"), "directories deep"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := with(test.more)
			_, err := Open(t.Context(), onDisk(t, files))
			wantRefused(t, err, test.path, test.what)
			for _, c := range []byte(strings.ReplaceAll(err.Error(), "\n", "")) {
				if c < ' ' || c >= 0x7f {
					t.Errorf("a raw character in %q", err)
				}
			}
			if test.path != strings.TrimSuffix(strings.Repeat("a/", MaxDepth+1), "/") {
				_, err = FromFiles(files.bytes(), "")
				wantRefused(t, err, test.path, test.what)
			}
		})
	}
}

func wantRefused(t *testing.T, err error, path, what string) {
	t.Helper()
	var all Errors
	if !errors.As(err, &all) {
		t.Fatalf("error is %v, want Errors", err)
	}
	for _, e := range all {
		if e.Layer == LayerExtract && e.Path == path && strings.Contains(e.What, what) && e.Fix != "" {
			return
		}
	}
	t.Errorf("no refusal of %q with %q among:\n%v", path, what, err)
}

func TestBoundsOfTheWholeTree(t *testing.T) {
	big := with(nil)
	for _, p := range strings.Fields("a b c d e f g h i j k l m n o p q") {
		big["lib/"+p+".go"] = strings.Repeat("\n", MaxFile)
	}
	_, err := FromFiles(big.bytes(), "")
	wantRefused(t, err, "", "more than 4194304 bytes")

	many := with(nil)
	for i := range MaxFiles {
		many["lib/a"+strings.Repeat("b", i%90)+string(rune('a'+i/90))+".go"] = ""
	}
	_, err = FromFiles(many.bytes(), "")
	wantRefused(t, err, "", "more than 2000 files")

	names := with(nil)
	for i := range MaxNames {
		names["assets/"+hex.EncodeToString([]byte{byte(i >> 16), byte(i >> 8), byte(i)})] = ""
	}
	_, err = FromFiles(names.bytes(), "")
	wantRefused(t, err, "", "more than 100000 names")
}

func TestReportsEveryRefusalSorted(t *testing.T) {
	_, err := FromFiles(with(tree{"tool/z.txt": "", "tool/a.s": "", "-x": "", "go.mod": "module nodot/x"}).bytes(), "")
	want := "extract: -x: has a name that begins with a dash, which commands take for a flag; rename it\n" +
		`extract: go.mod: the module path "nodot/x" has no dot in its first element, so it could be a standard package; ` +
		"use a path of your own with a host name in front, such as example.com/you/name, or drop the module line\n" +
		"extract: tool/a.s: is beside Go files and is not one; move it to schema/, skills/ or docs/, or remove it\n" +
		"extract: tool/z.txt: is beside Go files and is not one; move it to schema/, skills/ or docs/, or remove it"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%v", err, want)
	}
	many := with(nil)
	for i := range MaxErrors + 7 {
		many["tool/"+strings.Repeat("x", i+1)] = ""
	}
	_, err = FromFiles(many.bytes(), "")
	if all, ok := err.(Errors); !ok || len(all) != MaxErrors+1 || !strings.Contains(all[MaxErrors].What, "more refusals") {
		t.Errorf("got %d refusals", len(all))
	}
}

func TestPathsThatAreNoPaths(t *testing.T) {
	for _, p := range []string{"", "/etc/passwd", "../x.go", "a/../b.go", "a//b.go", "a/./b.go", "a/", "a\x00b.go", "extension.toml/x.go"} {
		if _, err := FromFiles(with(tree{p: ""}).bytes(), ""); err == nil {
			t.Errorf("%q was taken", p)
		}
	}
}

func TestModulePath(t *testing.T) {
	for mod, want := range map[string]string{
		"":                                    "",
		"go 1.26\n":                           "",
		"module example.com/you/ext\n":        "example.com/you/ext",
		"// c\nmodule \"example.com/a/v2\"\n": "example.com/a/v2",
		"module extension.invalid/x":          "extension.invalid/x",
		"module github.com/loomext/other":     "github.com/loomext/other",
		"module github.com/loomext/loomextra\ngo 1.99\ntoolchain go9.9.9\nreplace a => /etc\n": "github.com/loomext/loomextra",
	} {
		got := fromBoth(t, with(tree{"go.mod": mod}))
		if got.Module() != want {
			t.Errorf("module of %q is %q, want %q", mod, got.Module(), want)
		}
		if _, ok := got.File("go.mod"); ok {
			t.Error("go.mod was kept")
		}
	}
	for _, path := range []string{
		"tool", "std/x", "github.com/loomext/loomext", "github.com/loomext/loomext/x", "github.com/LoomExt/loomext/prelude",
		"github.com/loomext", "github.com", "github.com/vmihailenco/msgpack/v5", "github.com/vmihailenco/msgpack/v5/x",
		"github.com/vmihailenco", "example.com/a/vendor/b", "example.com/../b", "example.com/a b", "example.com/" + strings.Repeat("a", 200),
	} {
		_, err := FromFiles(with(tree{"go.mod": "module \"" + path + "\"\n"}).bytes(), "")
		wantRefused(t, err, "go.mod", "the module path")
	}
}

func TestPackages(t *testing.T) {
	got := fromBoth(t, with(tree{"lib.go": "", "a/b/c.go": "", "_d/x.go": "", "skills/x.md": "", "a/b/d_test.go": "", "e/e_test.go": ""}))
	if want := []string{".", "_d", "a/b", "tool"}; !slices.Equal(got.Packages(), want) {
		t.Errorf("packages are %q, want %q", got.Packages(), want)
	}
}

func TestDigestVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/digest.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Vectors []struct {
			Name   string
			Files  map[string]string
			Digest string
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil || len(doc.Vectors) == 0 {
		t.Fatal(len(doc.Vectors), err)
	}
	for _, v := range doc.Vectors {
		files := map[string][]byte{}
		for p, data := range v.Files {
			if files[p], err = hex.DecodeString(data); err != nil {
				t.Fatal(err)
			}
		}
		got, err := FromFiles(files, "")
		if err != nil || got.Digest() != v.Digest || len(got.Paths()) != len(files) {
			t.Errorf("%s: %s %v, want %s", v.Name, got.Digest(), err, v.Digest)
		}
	}
}

func TestTreeCannotBeChanged(t *testing.T) {
	files := with(nil).bytes()
	got, err := FromFiles(files, "")
	if err != nil {
		t.Fatal(err)
	}
	files["tool/run.go"][0] = 'X'
	data, _ := got.File("tool/run.go")
	data[0] = 'Y'
	got.Paths()[0] = "x"
	got.Packages()[0] = "x"
	again, _ := FromFiles(with(nil).bytes(), "")
	data, _ = got.File("tool/run.go")
	if string(data) != "package tool\n" || !slices.Equal(got.Paths(), again.Paths()) || !slices.Equal(got.Packages(), again.Packages()) {
		t.Error("a tree changed through an accessor")
	}
	var zero Tree
	if len(zero.Paths()) != 0 || zero.Digest() == "" || zero.Module() != "" {
		t.Error("the zero Tree is not empty")
	}
}

func TestOpenRefusesOtherSources(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/x.tar.gz", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for src, what := range map[string]string{
		"":                              "no source is named",
		"https://example.com/a.git":     "not a directory on this machine",
		"github.com/you/ext@v1.0.0":     "not a directory on this machine",
		dir + "/x.tar.gz":               "is not a directory",
		dir + "/missing":                "no such file or directory",
		dir + "/\x1b]0;x\x07missing":    "no such file or directory",
		"git+ssh://git@example.com/a/b": "not a directory on this machine",
	} {
		_, err := Open(t.Context(), src)
		var one *Error
		if !errors.As(err, &one) || one.Layer != LayerFetch || !strings.Contains(one.What, what) || !strings.Contains(one.Fix, "directories are the only source") {
			t.Errorf("Open(%q) = %v", src, err)
		}
		if err != nil && strings.Contains(err.Error(), "\x1b") {
			t.Errorf("a raw escape in %q", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context gave %v", err)
	}
}
