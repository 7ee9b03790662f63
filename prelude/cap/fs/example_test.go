package fs_test

import (
	"context"
	"fmt"

	"github.com/loomext/loomext/prelude/cap"
	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/fs"
)

// title is the first heading of a file, or nothing where there is no file.
func title(ctx context.Context, path string) (string, error) {
	text, err := fs.Read(ctx, path)
	if cap.CodeOf(err) == cap.CodeNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var heading string
	fmt.Sscanf(text, "# %s", &heading)
	return heading, nil
}

func Example() {
	host := captest.Open() // a test has captest.New(t)
	defer host.End()
	host.Handle("fs.read", func(captest.Call) (captest.Value, error) { return captest.Contents("# Notes\n"), nil })
	fmt.Println(title(host.Context(), "notes.md"))

	host.Refuse("fs.read", cap.CodePermissionDenied, "notes.md may not be read")
	fmt.Println(title(host.Context(), "notes.md"))
	// Output:
	// Notes <nil>
	//  fs: read "notes.md": permission_denied: notes.md may not be read
}
