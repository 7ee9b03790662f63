package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const supported = "name a directory that holds an extension.toml; directories are the only source this version installs from"

// Open reads a source. A directory is the only kind there is today; src may be relative to the working directory. The
// error is [Errors], with every refusal.
func Open(ctx context.Context, src string) (Tree, error) {
	info, err := os.Stat(src)
	switch {
	case src == "":
		return Tree{}, Errors{{Layer: LayerFetch, What: "no source is named", Fix: supported}}
	case err != nil && looksRemote(src):
		return Tree{}, Errors{{Layer: LayerFetch, Path: src, What: "is not a directory on this machine", Fix: supported}}
	case err != nil:
		return Tree{}, Errors{{Layer: LayerFetch, Path: src, What: cause(err), Fix: supported, Err: err}}
	case !info.IsDir():
		return Tree{}, Errors{{Layer: LayerFetch, Path: src, What: "is not a directory", Fix: supported}}
	}
	origin, err := filepath.Abs(src)
	if err != nil {
		return Tree{}, failed(LayerFetch, src, err, "")
	}
	root, err := os.OpenRoot(origin)
	if err != nil {
		return Tree{}, Errors{{Layer: LayerFetch, Path: src, What: cause(err), Fix: "make it readable", Err: err}}
	}
	dir := disk{root}
	defer dir.close()
	return finish(ctx, dir, origin)
}

// Reopen reads back a tree that [Tree.WriteTo] wrote. Such a tree holds kept files only and no go.mod, so the module
// path comes from the caller, who recorded it, and a name that Open would prune is refused: it was added since.
func Reopen(ctx context.Context, dir, module string) (Tree, error) {
	t, err := Open(ctx, dir)
	if err != nil {
		return Tree{}, err
	}
	k := *t.kept
	var refused Errors
	for _, p := range k.pruned {
		refused = append(refused, refuse(p, "is not part of the installed tree", "remove it or install again"))
	}
	if k.module != "" {
		refused = append(refused, refuse(modName, "is not part of the installed tree", "remove it or install again"))
	}
	if module != "" {
		if what, do := oddModule(module); what != "" {
			refused = append(refused, refuse("", what, do))
		}
	}
	if len(refused) > 0 {
		return Tree{}, refused.sorted()
	}
	k.module = module
	return Tree{&k}, nil
}

// FromFiles makes a tree from files in memory, by the same rules: paths have slashes and are relative, a go.mod is
// read and dropped, and what a directory would lose is pruned. origin is what [Tree.Origin] returns.
func FromFiles(files map[string][]byte, origin string) (Tree, error) {
	root, refused := fromPaths(files)
	if len(refused) > 0 {
		return Tree{}, refused.sorted()
	}
	return finish(context.Background(), root, origin)
}

func finish(ctx context.Context, root folder, origin string) (Tree, error) {
	w, got, err := gather(ctx, root)
	if err != nil {
		return Tree{}, err
	}
	if len(got.refused) > 0 {
		return Tree{}, got.refused.sorted()
	}
	return newTree(kept{origin: origin, module: w.module, files: w.files, pruned: got.pruned}), nil
}

func looksRemote(src string) bool {
	return strings.Contains(src, "://") || strings.Contains(src, "@") || strings.HasPrefix(src, "git+")
}

// cause is the system's reason without the path it repeats.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
