package loomext_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/loomext/loomext"

// rooms is what each room may import of the others, ground floor first. An arrow points down
// only: a room names none that stands below it in this list. "." is the root package, and
// install and the rooms above it may use all that is below.
var rooms = []struct {
	name string
	may  []string
}{
	{"internal/wire", nil},
	{"internal/livetest", nil},
	{"prelude", []string{"internal/wire"}},
	{"internal/tomlfile", nil},
	{"escape", nil},
	{".", nil},
	{"jail", nil},
	{"egress", nil},
	{"manifest", []string{"internal/tomlfile"}},
	{"source", nil},
	{"schema", []string{"manifest"}},
	{"vendorize", []string{"."}},
	{"templates", nil},
	{"gen", []string{"manifest", "templates"}},
	{"vet", []string{"manifest", "source", "vendorize", "gen", "jail"}},
	{"build", []string{"vendorize", "gen", "jail"}},
	{"satellite", []string{"internal/wire", "jail"}},
	{"install", []string{"internal/wire", "jail", "manifest", "source", "schema", "vendorize", "gen", "vet", "build", "satellite"}},
	{"config", []string{"internal/tomlfile"}},
	{"record", []string{"internal/wire"}},
	{"broker", []string{"internal/wire", "manifest", "egress", "jail", "config"}},
	{"host", []string{"internal/wire", "jail", "manifest", "satellite", "install", "config", "record", "broker"}},
	{"replay", []string{"internal/wire", "jail", "satellite", "install", "record"}},
	{"hookbus", []string{"host"}},
	{"bridge", []string{"internal/wire", "escape", "manifest", "satellite", "install", "record", "broker", "host"}},
	{"cmd/loomext", []string{"internal/wire", "internal/tomlfile", "escape", ".", "jail", "egress", "manifest", "source", "schema", "vendorize", "gen", "vet", "build", "satellite", "install", "config", "broker", "host", "hookbus", "record", "replay", "bridge"}},
}

// TestArrowsPointDown holds every import of every room against the list.
func TestArrowsPointDown(t *testing.T) {
	checked := map[string]int{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && file != "." && (name[0] == '.' || name == "testdata" || name == "third_party" || name == "examples" || name == "bench" || file == "internal/thirdparty") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		room := roomOf(filepath.ToSlash(filepath.Dir(file)))
		at := slices.IndexFunc(rooms, func(r struct {
			name string
			may  []string
		}) bool {
			return r.name == room
		})
		if at < 0 {
			t.Errorf("%s is in no room; give %s a place in the list", file, room)
			return nil
		}
		checked[room]++
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			rest, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			to := roomOf(path.Clean("." + rest))
			if to != room && !slices.Contains(rooms[at].may, to) {
				t.Errorf("%s imports %s; %s may import %v", file, to, room, rooms[at].may)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range rooms {
		if checked[room.name] == 0 {
			t.Errorf("the list has the room %s, and there is none", room.name)
		}
	}
}

// roomOf is the room that a directory, by its slash path from the root, belongs to.
func roomOf(dir string) string {
	for _, room := range rooms {
		if room.name != "." && (dir == room.name || strings.HasPrefix(dir, room.name+"/")) {
			return room.name
		}
	}
	return dir
}
