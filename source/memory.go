package source

import (
	"maps"
	"slices"
	"strings"
)

// memory is a directory in memory.
type memory struct {
	files map[string][]byte
	dirs  map[string]*memory
}

func newMemory() *memory { return &memory{map[string][]byte{}, map[string]*memory{}} }

// fromPaths builds directories out of paths. What could not be a path on disk is refused here.
func fromPaths(files map[string][]byte) (*memory, Errors) {
	root := newMemory()
	var refused Errors
	for _, p := range sortedKeys(files) {
		if err := root.place(p, files[p]); err != nil {
			refused = append(refused, err)
		}
	}
	return root, refused
}

func (m *memory) place(p string, data []byte) *Error {
	elems := strings.Split(p, "/")
	for _, elem := range elems {
		if elem == "" || elem == "." || elem == ".." || strings.IndexByte(elem, 0) >= 0 {
			return refuse(p, "is not a plain relative path", "name files relative to the root, with single slashes and without dots as elements")
		}
	}
	dir := m
	for i, elem := range elems[:len(elems)-1] {
		if _, ok := dir.files[elem]; ok || i > MaxDepth {
			return refuse(p, "is below a file, or too deep", "give each path one meaning")
		}
		if dir.dirs[elem] == nil {
			dir.dirs[elem] = newMemory()
		}
		dir = dir.dirs[elem]
	}
	name := elems[len(elems)-1]
	if dir.dirs[name] != nil {
		return refuse(p, "is a file and a directory", "give each path one meaning")
	}
	dir.files[name] = data
	return nil
}

func (m *memory) list(max int) ([]entry, error) {
	if len(m.files)+len(m.dirs) > max {
		return nil, errTooMany
	}
	var entries []entry
	for name := range m.files {
		entries = append(entries, entry{name, file})
	}
	for name := range m.dirs {
		entries = append(entries, entry{name, directory})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries, nil
}

func (m *memory) file(name string, max int64) ([]byte, error) {
	data := m.files[name]
	if int64(len(data)) > max {
		return nil, &sizeError{int64(len(data))}
	}
	return append([]byte{}, data...), nil
}

func (m *memory) enter(name string) (folder, error) { return m.dirs[name], nil }

func (m *memory) close() {}

func sortedKeys(files map[string][]byte) []string { return slices.Sorted(maps.Keys(files)) }
