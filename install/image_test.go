package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/satellite"
)

// TestWhatWasCheckedIsWhatRuns changes the artifact between a load and the launch, in every way
// that a file can be changed: what runs is what was there at the load.
func TestWhatWasCheckedIsWhatRuns(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	foreign := mustInstall(t, s, options(extension(t, "other", "another program")))
	evil, err := os.ReadFile(filepath.Join(foreign.Generation, "loom_satellite"))
	if err != nil {
		t.Fatal(err)
	}
	rewrite := func(t *testing.T, path string) {
		if err := os.Chmod(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, evil, 0o700); err != nil { // the same file, its bytes replaced
			t.Fatal(err)
		}
	}
	for how, change := range map[string]func(*testing.T, string){
		"rewritten": rewrite,
		"replaced": func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other")
			if err := os.WriteFile(other, evil, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(other, path); err != nil {
				t.Skipf("skipped layer: file system: the temporary directory is another one: %v", err)
			}
		},
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(how, func(t *testing.T) {
			s := install.Open(filepath.Join(t.TempDir(), "home"))
			mustInstall(t, s, options(extension(t, "word", "one")))
			installed := load(t, s, "word")
			change(t, installed.Artifact)
			for range 2 { // many launches share the image
				if got := say(t, installed); got != "one" {
					t.Errorf("said %q", got)
				}
			}
			for load, f := range map[string]func() (*install.Installed, error){
				"Load":      func() (*install.Installed, error) { return s.Load(t.Context(), "word") },
				"LoadImage": func() (*install.Installed, error) { return s.LoadImage(t.Context(), "word") },
			} {
				later, err := f()
				var refusal *install.Error
				if !errors.As(err, &refusal) || refusal.Layer != install.LayerRecord || !strings.Contains(err.Error(), "install word again") && !strings.Contains(err.Error(), "install the extension again") {
					t.Errorf("%s afterwards: %v", load, err)
				}
				if err == nil {
					later.Close()
				}
			}
		})
	}
}

func TestAClosedInstallLaunchesNothing(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	mustInstall(t, s, options(extension(t, "word", "one")))
	installed := load(t, s, "word")
	for range 2 {
		if err := installed.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var refusal *jail.Error
	if sat, err := satellite.Launch(t.Context(), satellite.Config{Image: installed.Image}); !errors.As(err, &refusal) {
		t.Errorf("launched all the same: %v", err)
		sat.Close()
	}
	shown, err := s.Load(t.Context(), "word")
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	if shown.Image != nil {
		t.Error("a load that launches nothing has sealed the artifact")
	}
}

func TestARecordSaysAtWhichLevelItWasBuilt(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	result := mustInstall(t, s, options(extension(t, "word", "one")))
	if result.JailLevel == "" || result.JailLevel != result.Record.BuildJail.Level {
		t.Errorf("installed at level %q, built at %q", result.JailLevel, result.Record.BuildJail.Level)
	}
	v := verify(t, s, true)
	if v.BuildJail.Level != result.JailLevel || v.JailLevel == "" || len(v.BuildJail.Layers) == 0 {
		t.Errorf("verified at level %q, built at %q with %d layers", v.JailLevel, v.BuildJail.Level, len(v.BuildJail.Layers))
	}
	if v := verify(t, s, false); v.JailLevel != "" {
		t.Errorf("without a build, at level %q", v.JailLevel)
	}
	again := mustInstall(t, s, options(result.Record.Source))
	if again.Outcome != install.OutcomeUnchanged || again.JailLevel != result.JailLevel {
		t.Errorf("%s at level %q", again.Outcome, again.JailLevel)
	}

	// Records of before have no level. They load, and the verification says so.
	if err := install.Forge(s, "word", func(r *install.Record) { r.BuildJail.Level = "" }); err != nil {
		t.Fatal(err)
	}
	load(t, s, "word")
	v = verify(t, s, false)
	for _, check := range v.Checks {
		if check.Name == "jail" && (check.State != install.StateSkipped || !strings.Contains(check.Detail, "does not say")) {
			t.Errorf("%+v", check)
		}
	}
	if !v.OK {
		t.Errorf("failed: %v", failed(v))
	}
}
