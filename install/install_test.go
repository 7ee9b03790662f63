package install_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/satellite"
)

// say calls the tool of an installed test extension.
func say(t *testing.T, installed *install.Installed) string {
	t.Helper()
	sat, err := satellite.Launch(t.Context(), satellite.Config{Image: installed.Image, Limits: installed.Record.Limits()})
	if err != nil {
		t.Fatal(err)
	}
	defer sat.Close()
	outcome, err := sat.Tool(t.Context(), "say", []byte(`{}`), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return string(outcome.Content[0].Body)
}

func load(t *testing.T, s *install.Store, name string) *install.Installed {
	t.Helper()
	installed, err := s.LoadImage(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { installed.Close() })
	return installed
}

// remains is what a store holds beside the links, generations and locks it must.
func remains(t *testing.T, home string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(home, ".staging"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func generations(t *testing.T, home string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(home, "generations"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// A file system that is read-only has everything but the last step of a removal succeed.
func TestRemovalSaysToMakeTheStoreWritable(t *testing.T) {
	s := install.Open(t.TempDir())
	err := install.Unlinked(s, "word", &fs.PathError{Op: "remove", Path: "extensions/word", Err: syscall.EROFS})
	if want := "cannot remove word: remove extensions/word: read-only file system; make the store writable"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := install.Unlinked(s, "word", nil); err != nil {
		t.Error(err)
	}
}

func TestInstallLoadReplaceRemove(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	s := install.Open(home)
	first := mustInstall(t, s, options(extension(t, "word", "one")))
	if first.Outcome != install.OutcomeInstalled {
		t.Errorf("outcome %q", first.Outcome)
	}
	held := load(t, s, "word")
	if got := say(t, held); got != "one" {
		t.Errorf("said %q", got)
	}

	second := mustInstall(t, s, options(extension(t, "word", "two")))
	if second.Outcome != install.OutcomeReplaced {
		t.Errorf("outcome %q", second.Outcome)
	}
	if got := say(t, held); got != "one" {
		t.Errorf("the generation a session holds now says %q", got)
	}
	if got := say(t, load(t, s, "word")); got != "two" {
		t.Errorf("the new generation says %q", got)
	}
	if n := len(generations(t, home)); n != 2 {
		t.Errorf("%d generations while the old one is held", n)
	}
	held.Close()

	third := mustInstall(t, s, options(extension(t, "word", "three")))
	if have := generations(t, home); !slices.Contains(have, filepath.Base(third.Generation)) || len(have) > 2 {
		t.Errorf("generations %v after the third install", have)
	}
	if err := s.Remove(t.Context(), "word"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), "word"); !errors.Is(err, install.ErrNotInstalled) {
		t.Errorf("loading what was removed: %v", err)
	}
	if left := remains(t, home); len(left) > 0 {
		t.Errorf("left in staging: %v", left)
	}
}

func TestAnApprovalIsAskedForOnceAndAnewWhenAnythingOfItChanges(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	asked := 0
	src := extension(t, "word", "one")
	ask := func(source string, sets ...string) install.Result {
		t.Helper()
		o := options(source)
		o.Preset, o.Sets = nil, sets
		o.Approve = func(context.Context, install.Approval) (install.Decision, error) {
			asked++
			return install.Decision{All: true, How: "prompt"}, nil
		}
		return mustInstall(t, s, o)
	}
	for _, step := range []struct {
		why     string
		source  string
		sets    []string
		asks    bool
		outcome string
	}{
		{"first", src, nil, true, install.OutcomeInstalled},
		{"the same again", src, nil, false, install.OutcomeUnchanged},
		{"an override", src, []string{"loud=true"}, true, install.OutcomeReplaced},
		{"the same override", src, []string{"loud=true"}, false, install.OutcomeUnchanged},
		{"no override", src, nil, true, install.OutcomeReplaced},
		{"another tree", extension(t, "word", "other"), nil, true, install.OutcomeReplaced},
	} {
		before := asked
		result := ask(step.source, step.sets...)
		if (asked > before) != step.asks {
			t.Errorf("%s: asked %v, want %v", step.why, asked > before, step.asks)
		}
		if result.Outcome != step.outcome {
			t.Errorf("%s: outcome %s, want %s", step.why, result.Outcome, step.outcome)
		}
	}
}

func TestADeclinedInstallLeavesTheStoreAsItWas(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	s := install.Open(home)
	o := options(extension(t, "word", "one"))
	o.Preset = nil
	if _, err := s.Install(t.Context(), o); !errors.Is(err, install.ErrDeclined) {
		t.Errorf("without anyone to ask: %v", err)
	}
	o.Approve = func(context.Context, install.Approval) (install.Decision, error) {
		return install.Decision{}, install.ErrDeclined
	}
	if _, err := s.Install(t.Context(), o); !errors.Is(err, install.ErrDeclined) {
		t.Errorf("declined: %v", err)
	}
	if entries, err := s.List(); err != nil || len(entries) > 0 {
		t.Errorf("installed all the same: %v %v", entries, err)
	}
	if _, err := os.Lstat(home); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}

func TestAGrantIsASubsetOfWhatIsRequested(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	src := extension(t, "word", "one", func(files map[string]string) {
		files["extension.toml"] = strings.Replace(files["extension.toml"], "license", "requests = [\"clock\", \"rand\"]\nlicense", 1)
		files["tool/say.go"] = strings.Replace(files["tool/say.go"], "return ext.Text",
			"_, _ = clock.Now(ctx)\n\t_, _ = rand.Bytes(ctx, 1)\n\treturn ext.Text", 1)
		files["tool/say.go"] = strings.Replace(files["tool/say.go"], `import "github.com/loomext/loomext/prelude/ext"`,
			`import (
	"github.com/loomext/loomext/prelude/cap/clock"
	"github.com/loomext/loomext/prelude/cap/rand"
	"github.com/loomext/loomext/prelude/ext"
)`, 1)
	})
	o := options(src)
	o.Preset = &install.Decision{Granted: []string{"net"}, How: "--grant"}
	var grant *install.GrantError
	if _, err := s.Install(t.Context(), o); !errors.As(err, &grant) {
		t.Errorf("granting what is not requested: %v", err)
	}
	o.Preset = &install.Decision{Granted: []string{"rand"}, How: "--grant"}
	some := mustInstall(t, s, o)
	if !slices.Equal(some.Record.Granted, []string{"rand"}) {
		t.Errorf("granted %v", some.Record.Granted)
	}
	if len(some.Approval.Requests) != 2 || len(some.Approval.Requests[0].Uses) != 1 {
		t.Errorf("the approval shows %+v", some.Approval.Requests)
	}
	all := mustInstall(t, s, options(src))
	if all.Record.ApprovalKey == some.Record.ApprovalKey || all.Record.Fingerprint == some.Record.Fingerprint {
		t.Error("another grant has the same approval key or fingerprint")
	}
}

func TestConcurrentInstalls(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	s := install.Open(home)
	sources := []string{
		extension(t, "same", "a"), extension(t, "same", "b"), extension(t, "same", "c"),
		extension(t, "other", "d"),
	}
	var wg sync.WaitGroup
	for _, src := range sources {
		wg.Go(func() {
			if _, err := s.Install(t.Context(), options(src)); err != nil {
				t.Errorf("%s: %v", src, err)
			}
		})
	}
	wg.Wait()
	if got := say(t, load(t, s, "same")); !strings.Contains("abc", got) {
		t.Errorf("same says %q", got)
	}
	if got := say(t, load(t, s, "other")); got != "d" {
		t.Errorf("other says %q", got)
	}
	if left := remains(t, home); len(left) > 0 {
		t.Errorf("left in staging: %v", left)
	}
}

func TestAnInstallThatIsCalledOffLeavesNothing(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	s := install.Open(home)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := options(extension(t, "word", t.Name()))
	o.Progress = func(p install.Progress) {
		if p.Layer == install.LayerCompile && !p.Done {
			cancel()
		}
	}
	if _, err := s.Install(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("called off: %v", err)
	}
	if left := append(remains(t, home), generations(t, home)...); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := s.Install(t.Context(), options(extension(t, "word", "one"))); err != nil {
		t.Errorf("the next install: %v", err)
	}
}
