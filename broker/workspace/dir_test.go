package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/loomext/loomext/internal/wire"
)

// What is handed out is the directory that is held, whatever has its name by then.
func TestTheDirectoryThatIsHandedOutIsTheOneThatIsHeld(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		was, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Rename(dir, dir+".moved"), os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "other"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		held, err := w.Dir()
		if err != nil {
			t.Fatal(err)
		}
		if is, err := held.Stat(); err != nil || !os.SameFile(was, is) {
			t.Errorf("another directory, %v", err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if _, err := held.Readdirnames(-1); err != nil {
			t.Errorf("it ends with the workspace: %v", err)
		}
		_ = held.Close()
		_, err = w.Dir()
		refused(t, "after the end", err, wire.CodeUnavailable, "closed")
	})
}
