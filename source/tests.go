package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
)

// Bounds of what tests bring with them. Test data is larger than source and no part of an install.
const (
	// MaxTestFile is the most bytes of one file.
	MaxTestFile = 8 << 20
	// MaxTests is the most bytes of all of them together.
	MaxTests = 64 << 20
	// MaxTestFiles is the most files.
	MaxTestFiles = 10_000
)

// Tests reads what an author's own tests need beside the kept tree, by slash path: the _test.go files wherever Go source
// may be, and the testdata directories whole. A tree holds none of it, so no install digests, vets or builds it. Links
// and devices are refused here as there. The error is [Errors].
func Tests(ctx context.Context, src string) (map[string][]byte, error) {
	root, err := os.OpenRoot(src)
	if err != nil {
		return nil, Errors{{Layer: LayerFetch, Path: src, What: cause(err), Fix: "make it readable", Err: err}}
	}
	dir := disk{root}
	defer dir.close()
	w := &testWalker{ctx: ctx, files: map[string][]byte{}}
	if err := w.walk(dir, ".", false, 0); err != nil {
		return nil, err
	}
	if len(w.refused) > 0 {
		return nil, w.refused.sorted()
	}
	return w.files, nil
}

type testWalker struct {
	ctx     context.Context
	names   int
	size    int64
	files   map[string][]byte
	refused Errors
}

// walk reads one directory. Its error is what stops a walk.
func (w *testWalker) walk(dir folder, rel string, data bool, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return failed(LayerFetch, rel, err, "")
	}
	if depth > MaxDepth {
		return Errors{refuse(rel, fmt.Sprintf("is more than %d directories deep", MaxDepth), "move it up")}
	}
	entries, err := dir.list(MaxNames - w.names)
	if errors.Is(err, errTooMany) {
		return Errors{refuse("", fmt.Sprintf("the source holds more than %d names", MaxNames), "test a clean checkout")}
	}
	if err != nil {
		w.refused = append(w.refused, unreadable(rel, err))
		return nil
	}
	w.names += len(entries)
	for _, e := range entries {
		if err := w.entry(dir, e, path.Join(rel, e.name), data, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *testWalker) entry(dir folder, e entry, rel string, data bool, depth int) error {
	isTest := strings.HasSuffix(e.name, "_test.go")
	switch {
	case !data && (e.name[0] == '.' || e.name == vendorName || e.name == "docs" || e.name == satelliteName):
		return nil
	case e.kind == directory:
		sub, err := dir.enter(e.name)
		if err != nil {
			w.refused = append(w.refused, unreadable(rel, err))
			return nil
		}
		defer sub.close()
		return w.walk(sub, rel, data || e.name == "testdata", depth+1)
	case !data && !isTest:
		return nil
	case e.kind != file:
		w.refused = append(w.refused, refuse(rel, "is no file, and a test in the jail sees files alone", "put the file itself in its place"))
		return nil
	}
	return w.keep(dir, e.name, rel)
}

func (w *testWalker) keep(dir folder, name, rel string) error {
	text, err := dir.file(name, MaxTestFile)
	var size *sizeError
	switch {
	case errors.As(err, &size):
		w.refused = append(w.refused, refuse(rel, fmt.Sprintf("is %d bytes; at most %d", size.size, MaxTestFile), "make it smaller"))
		return nil
	case err != nil:
		w.refused = append(w.refused, unreadable(rel, err))
		return nil
	}
	w.size += int64(len(text))
	if w.size > MaxTests || len(w.files) == MaxTestFiles {
		return Errors{refuse("", fmt.Sprintf("the tests and their data are more than %d bytes or %d files", MaxTests, MaxTestFiles), "make them smaller")}
	}
	w.files[rel] = text
	return nil
}
