package vendorize

import (
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
)

func stagesIn(t testing.TB) (*os.Root, func() []string) {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, func() []string {
		entries, err := os.ReadDir(root.Name())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
}

// Only what carries a stage's whole name goes, and only where nobody holds it.
func TestSweepTakesWhatNobodyHolds(t *testing.T) {
	root, names := stagesIn(t)
	const left, leftFile, link = ".loomext-ABCDEFGHIJKLMNOPQRSTUVWXYZ", ".loomext-22222222222222222222222222", ".loomext-33333333333333333333333333"
	others := []string{".loomext-", ".loomext-ABC", ".loomext-abcdefghijklmnopqrstuvwxyz", ".loomext-new-1234", "loomext-ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
	for _, name := range append(slices.Clone(others), left, left+"/vendor") {
		if err := root.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(root.WriteFile(left+"/vendor/x", nil, 0o644), root.WriteFile(leftFile, nil, 0o644), root.Symlink(others[0], link)); err != nil {
		t.Fatal(err)
	}
	held, err := NewStage(root, ".")
	if err != nil {
		t.Fatal(err)
	}
	file, err := NewStageFile(root, ".", []byte("x"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	Sweep(root, ".")
	want := append(slices.Clone(others), link, held.Name, file.Name)
	slices.Sort(want)
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q", got, want)
	}
	if err := errors.Join(root.Rename(file.Name, "kept"), file.Remove(), held.Remove()); err != nil {
		t.Fatal(err)
	}
	if got := names(); slices.Contains(got, held.Name) || slices.Contains(got, file.Name) || !slices.Contains(got, "kept") {
		t.Errorf("there is %q", got)
	}
}

// Whoever makes a stage has it until they remove it, however many sweep meanwhile.
func TestStagesAreNotSweptFromUnderTheirMaker(t *testing.T) {
	root, names := stagesIn(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				s, err := NewStage(root, ".")
				if err != nil {
					t.Error(err)
					return
				}
				err = errors.Join(root.WriteFile(s.Name+"/x", nil, 0o644), s.Remove())
				if err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			for range 100 {
				Sweep(root, ".")
			}
		})
	}
	all.Wait()
	if got := names(); len(got) > 0 {
		t.Errorf("left behind: %q", got)
	}
}
