package source

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// kind is what a name in a directory stands for.
type kind uint8

const (
	file kind = iota
	directory
	link
	special // a device, a pipe, a socket: never opened
)

type entry struct {
	name string
	kind kind
}

// folder is one directory being read: on disk, or in memory.
type folder interface {
	// list is every entry, sorted by name; more than max is errTooMany.
	list(max int) ([]entry, error)
	// file is the bytes of a regular file, at most max of them: more is a *sizeError, anything that is no longer the
	// regular file that was listed is errChanged.
	file(name string, max int64) ([]byte, error)
	// enter opens a directory; the caller closes it.
	enter(name string) (folder, error)
	close()
}

var (
	errTooMany = errors.New("too many names")
	errChanged = errors.New("changed while it was read")
)

type sizeError struct{ size int64 }

func (e *sizeError) Error() string { return fmt.Sprintf("is %d bytes", e.size) }

// region is what a directory is for; it decides what is kept in it.
type region uint8

const (
	top       region = iota // the root
	code                    // anywhere below it
	documents               // schema/ and skills/
)

// walker gathers a tree. A directory below the root is kept when something in it is; until then its refusals are only
// held, and they are forgotten with it when it is pruned.
type walker struct {
	ctx    context.Context
	names  int
	files  map[string][]byte
	size   int64
	full   bool // a bound of the whole tree was crossed: go on judging, stop reading
	module string
}

// found is what one directory came to.
type found struct {
	keep    bool
	refused Errors
	pruned  []string
}

func (f *found) refuse(path, what, do string) {
	f.refused = append(f.refused, refuse(path, what, do))
}

// gather walks a whole source. Its error is what stops a walk: an ended context, too many names.
func gather(ctx context.Context, root folder) (*walker, found, error) {
	w := &walker{ctx: ctx, files: map[string][]byte{}}
	got, err := w.walk(root, ".", top, 0)
	if err != nil {
		return nil, found{}, err
	}
	got.refused = append(got.refused, collisions(w.files)...)
	return w, got, nil
}

func (w *walker) walk(dir folder, rel string, in region, depth int) (found, error) {
	got := found{keep: in != code}
	if err := w.ctx.Err(); err != nil {
		return got, failed(LayerFetch, rel, err, "")
	}
	if depth > MaxDepth {
		got.keep = true
		got.refuse(rel, fmt.Sprintf("is more than %d directories deep", MaxDepth), "move it up, or begin its name with a dot to leave it out")
		return got, nil
	}
	entries, err := dir.list(MaxNames - w.names)
	if errors.Is(err, errTooMany) {
		return got, Errors{refuse("", fmt.Sprintf("the source holds more than %d names", MaxNames), "install from a clean checkout")}
	}
	if err != nil {
		got.keep = true
		got.refused = append(got.refused, unreadable(rel, err))
		return got, nil
	}
	w.names += len(entries)
	hasGo := false
	for _, e := range entries {
		hasGo = hasGo || isGo(e.name) && !prunedByName(e.name, in)
	}
	got.keep = got.keep || hasGo
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return got, failed(LayerFetch, path.Join(rel, e.name), err, "")
		}
		if err := w.entry(dir, e, path.Join(rel, e.name), in, hasGo, depth, &got); err != nil {
			return got, err
		}
	}
	return got, nil
}

func (w *walker) entry(dir folder, e entry, rel string, in region, hasGo bool, depth int, got *found) error {
	if prunedByName(e.name, in) {
		got.prune(rel, e.kind)
		return nil
	}
	if e.name == satelliteName && in != documents {
		got.keep = true
		got.refuse(rel, "is the name of the package that the build writes", "rename it")
		return nil
	}
	if what := oddName(e.name); what != "" {
		got.refuse(rel, what, "rename it")
		return nil
	}
	switch {
	case e.kind == link:
		got.refuse(rel, "is a link, and links are not followed", "put the file or directory itself in its place")
	case e.kind == special:
		got.refuse(rel, "is a device, a pipe or a socket", "remove it; a tree holds files and directories only")
	case e.kind == directory && isGo(e.name):
		got.refuse(rel, "is a directory that is named like a Go file", "rename it")
	case e.kind == directory:
		return w.directory(dir, e.name, rel, in, depth, got)
	default:
		w.file(dir, e.name, rel, in, hasGo, got)
	}
	return nil
}

func (w *walker) directory(dir folder, name, rel string, in region, depth int, got *found) error {
	if in == top {
		switch name {
		case manifestName, modName, "go.work", "go.work.sum":
			got.refuse(rel, "is a directory", "make it a file")
			return nil
		case "schema", "skills":
			in = documents
		default:
			in = code
		}
	}
	sub, err := dir.enter(name)
	if err != nil {
		got.keep = true
		got.refused = append(got.refused, unreadable(rel, err))
		return nil
	}
	defer sub.close()
	below, err := w.walk(sub, rel, in, depth+1)
	if err != nil {
		return err
	}
	if !below.keep {
		got.prune(rel, directory)
		return nil
	}
	got.keep = true
	got.refused = append(got.refused, below.refused...)
	got.pruned = append(got.pruned, below.pruned...)
	return nil
}

func (w *walker) file(dir folder, name, rel string, in region, hasGo bool, got *found) {
	switch {
	case isGo(name) && in == documents:
		got.refuse(rel, "is Go source among documents", "move it to a package directory outside schema/ and skills/")
	case isGo(name):
		if what := oddGoPath(path.Dir(rel), name); what != "" {
			got.refuse(rel, what, "use letters, digits, underscores, dashes and dots in the names of Go files and their directories")
			return
		}
		w.keep(dir, name, rel, got)
	case in == documents:
		w.keep(dir, name, rel, got)
	case in == top && name == modName:
		w.mod(dir, got)
	case in == top && (name == manifestName || strings.HasPrefix(name, "README") || strings.HasPrefix(name, "LICENSE")):
		w.keep(dir, name, rel, got)
	case in == top && hasGo && compiledBesideGo(name):
		got.refuse(rel, "would be compiled into the root package, and only Go is", "rewrite it in Go or remove it")
	case in == top:
		got.prune(rel, file)
	case name == modName:
		got.refuse(rel, "is a second module", "an extension is one module: remove this go.mod, or begin its directory's name with a dot to leave it out")
	case hasGo:
		got.refuse(rel, "is beside Go files and is not one", "move it to schema/, skills/ or docs/, or remove it")
	default:
		got.prune(rel, file)
	}
}

// keep reads one file into the tree.
func (w *walker) keep(dir folder, name, rel string, got *found) {
	if len(rel) > MaxPath {
		got.refuse(rel, fmt.Sprintf("has a path of %d bytes; at most %d", len(rel), MaxPath), "shorten it")
		return
	}
	if w.full {
		return
	}
	data, err := dir.file(name, MaxFile)
	if err != nil {
		got.refused = append(got.refused, unreadable(rel, err))
		return
	}
	w.size += int64(len(data))
	switch {
	case w.size > MaxTree:
		w.full = true
		got.refuse("", fmt.Sprintf("the kept files are more than %d bytes together", MaxTree), "make the extension smaller or split it in two")
	case len(w.files) == MaxFiles:
		w.full = true
		got.refuse("", fmt.Sprintf("the source has more than %d files to keep", MaxFiles), "make the extension smaller or split it in two")
	default:
		w.files[rel] = data
	}
}

func (w *walker) mod(dir folder, got *found) {
	data, err := dir.file(modName, MaxFile)
	if err != nil {
		got.refused = append(got.refused, unreadable(modName, err))
		return
	}
	module, refused := modulePath(data)
	if refused != nil {
		got.refused = append(got.refused, refused)
		return
	}
	w.module = module
}

func (f *found) prune(rel string, k kind) {
	if k == directory {
		rel += "/"
	}
	f.pruned = append(f.pruned, rel)
}

func unreadable(rel string, err error) *Error {
	var size *sizeError
	switch {
	case errors.As(err, &size):
		return refuse(rel, fmt.Sprintf("is %d bytes; at most %d", size.size, MaxFile), "split it or make it smaller")
	case errors.Is(err, errChanged):
		return refuse(rel, err.Error(), "let nothing write to the source during an install, then try again")
	}
	e := refuse(rel, "cannot be read: "+cause(err), "make it readable, or begin its name with a dot to leave it out")
	e.Err = err
	return e
}

// collisions are paths that one file system would keep apart and another would not, between kept files, their
// directories and the names the build writes beside them.
func collisions(files map[string][]byte) Errors {
	written := []string{satelliteName, vendorName, modName}
	taken := map[string]string{}
	var refused Errors
	claim := func(p string) {
		folded := strings.ToLower(p)
		switch other, ok := taken[folded]; {
		case slices.Contains(written, folded):
			refused = append(refused, refuse(p, "differs only in case from "+folded+", which the build writes", "rename it"))
		case ok && other != p:
			refused = append(refused, refuse(max(p, other), "differs from "+min(p, other)+" only in case", "rename one of the two"))
		default:
			taken[folded] = p
		}
	}
	seen := map[string]bool{".": true}
	for _, p := range sortedKeys(files) {
		for _, dir := range parents(p) {
			if !seen[dir] {
				seen[dir] = true
				claim(dir)
			}
		}
		claim(p)
	}
	return refused
}

// parents are the directories above a path, from the top, without the root.
func parents(p string) []string {
	var dirs []string
	for i := range len(p) {
		if p[i] == '/' {
			dirs = append(dirs, p[:i])
		}
	}
	return dirs
}
