package install_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/loomext/loomext/install"
)

// failed is the details of the checks that failed, by name.
func failed(v install.Verification) map[string]string {
	out := map[string]string{}
	for _, check := range v.Checks {
		if check.State == install.StateFailed {
			out[check.Name] = check.Detail
		}
	}
	return out
}

func verify(t *testing.T, s *install.Store, rebuild bool) install.Verification {
	t.Helper()
	v, err := s.Verify(t.Context(), "word", install.VerifyOptions{Rebuild: rebuild, Builder: builder()})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// change rewrites a file whatever its mode, and puts it back when the subtest ends.
func change(t *testing.T, path string, edit func([]byte) []byte) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(data []byte) {
		t.Helper()
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { put(before) })
	put(edit(bytes.Clone(before)))
}

func TestVerifyFindsNothingInAFreshInstall(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	mustInstall(t, s, options(extension(t, "word", "one")))
	v := verify(t, s, true)
	if !v.OK {
		t.Errorf("failed: %v", failed(v))
	}
	for _, check := range v.Checks {
		if check.State != install.StateOK {
			t.Errorf("%s is %s: %s", check.Name, check.State, check.Detail)
		}
	}
	skipped := verify(t, s, false)
	if last := skipped.Checks[len(skipped.Checks)-1]; last.Name != "rebuild" || last.State != install.StateSkipped {
		t.Errorf("without a rebuild: %+v", last)
	}
}

func TestTamperingIsNoticedAndNamed(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	dir := mustInstall(t, s, options(extension(t, "word", "one", bound))).Generation

	expect := func(t *testing.T, check, name string) {
		t.Helper()
		v := verify(t, s, false)
		detail, ok := failed(v)[check]
		if !ok || !strings.Contains(detail, name) {
			t.Errorf("verify says %v; want %s to name %s", failed(v), check, name)
		}
		if installed, err := s.Load(t.Context(), "word"); err == nil {
			installed.Close()
			t.Error("it still loads")
		}
	}
	flip := func(data []byte) []byte {
		data[len(data)/2] ^= 1
		return data
	}

	for _, file := range []string{"extension.toml", "README.md", "schema/say.json", "tool/say.go"} {
		t.Run(file, func(t *testing.T) {
			change(t, filepath.Join(dir, "tree", file), func(data []byte) []byte { return append(data, '\n') })
			expect(t, "tree", file)
		})
	}
	t.Run("a file more", func(t *testing.T) {
		path := filepath.Join(dir, "tree", "tool", "more.go")
		if err := os.WriteFile(path, []byte("package tool\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(path) })
		expect(t, "tree", "tool/more.go")
	})
	t.Run("a file that a walk prunes", func(t *testing.T) {
		path := filepath.Join(dir, "tree", "notes.txt")
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(path) })
		expect(t, "tree", "notes.txt")
	})
	t.Run("a file less", func(t *testing.T) {
		path := filepath.Join(dir, "tree", "README.md")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.WriteFile(path, data, 0o644) })
		expect(t, "tree", "README.md")
	})
	t.Run("a tree somewhere else", func(t *testing.T) {
		tree, moved := filepath.Join(dir, "tree"), filepath.Join(t.TempDir(), "tree")
		if err := os.Rename(tree, moved); err != nil {
			t.Skipf("skipped layer: file system: the temporary directory is another one: %v", err)
		}
		t.Cleanup(func() { os.Remove(tree); os.Rename(moved, tree) })
		if err := os.Symlink(moved, tree); err != nil {
			t.Fatal(err)
		}
		expect(t, "tree", "no directory")
	})
	t.Run("the artifact", func(t *testing.T) {
		change(t, filepath.Join(dir, "loom_satellite"), flip)
		expect(t, "artifact", "loom_satellite")
	})
	t.Run("a stranger in the generation", func(t *testing.T) {
		path := filepath.Join(dir, "extra")
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(path) })
		expect(t, "link", "extra")
	})
	t.Run("the link", func(t *testing.T) {
		link := filepath.Join(s.Home(), "extensions", "word")
		target, err := os.Readlink(link)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/etc", link); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(link); os.Symlink(target, link) })
		expect(t, "link", "/etc")
	})

	record := reflect.TypeFor[install.Record]()
	for i := range record.NumField() {
		field := strings.Split(record.Field(i).Tag.Get("json"), ",")[0]
		t.Run("record "+field, func(t *testing.T) {
			change(t, filepath.Join(dir, "install.json"), func(data []byte) []byte { return tamperField(t, data, field) })
			expect(t, "record", field)
		})
	}
	t.Run("record seal", func(t *testing.T) {
		change(t, filepath.Join(dir, "install.json"), func(data []byte) []byte { return tamperField(t, data, "seal") })
		expect(t, "record", "seal")
	})
	t.Run("record that is no JSON", func(t *testing.T) {
		change(t, filepath.Join(dir, "install.json"), func([]byte) []byte { return []byte("{") })
		expect(t, "record", "install.json")
	})
	if v := verify(t, s, false); !v.OK {
		t.Errorf("with everything put back: %v", failed(v))
	}
}

// tamperField gives one top-level member of a record another value, also one that is left out where there is nothing to
// say.
func tamperField(t *testing.T, data []byte, field string) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	members[field] = json.RawMessage(`"tampered"`)
	out, err := json.MarshalIndent(members, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAConsistentForgeryIsDerivedAnew forges a record whose own digests all fit: what a load
// derives from the tree still disagrees with it.
func TestAConsistentForgeryIsDerivedAnew(t *testing.T) {
	for _, forged := range []struct {
		check, names string
		edit         func(*install.Record)
	}{
		{"manifest", "tools", func(r *install.Record) { r.Tools[0].Description = "Harmless." }},
		{"manifest", "net", func(r *install.Record) { r.Net = &install.RecordNet{Hosts: []string{"example.com"}} }},
		{"manifest", "mcp", func(r *install.Record) {
			r.MCP = &install.RecordMCP{Prompts: []install.RecordPrompt{{Name: "say_it", Tool: "say"}}}
		}},
		{"manifest", "requested", func(r *install.Record) { r.Requested = []string{"net"} }},
		{"approval", "net", func(r *install.Record) { r.Granted = []string{"net"} }},
		{"approval", "fingerprint", func(r *install.Record) { r.Fingerprint = "sha256:0" }},
		{"approval", "approval_key", func(r *install.Record) { r.ApprovalKey = "sha256:0" }},
		{"approval", "config", func(r *install.Record) { r.Config = json.RawMessage(`{"loud":true}`) }},
		{"seam", "seam", func(r *install.Record) { r.Seam.Allow = append(r.Seam.Allow, "os") }},
		{"tree", "digest", func(r *install.Record) { r.TreeDigest = "sha256:0" }},
		{"tree", "say.go", func(r *install.Record) { r.Files["tool/say.go"] = "0" }},
		{"program", "toolchain", func(r *install.Record) { r.Toolchain = "go1.25.0" }},
		{"artifact", "digest", func(r *install.Record) { r.ArtifactDigest = "sha256:0" }},
	} {
		t.Run(forged.check+" "+forged.names, func(t *testing.T) {
			s := install.Open(filepath.Join(t.TempDir(), "home"))
			mustInstall(t, s, options(extension(t, "word", "one")))
			if err := install.Forge(s, "word", forged.edit); err != nil {
				t.Fatal(err)
			}
			v := verify(t, s, false)
			if detail := failed(v)[forged.check]; !strings.Contains(detail, forged.names) {
				t.Errorf("verify says %v; want %s to name %s", failed(v), forged.check, forged.names)
			}
		})
	}
}

// TestAnotherExtensionsProgramIsNoticed swaps in the satellite of another extension and makes the
// record fit: the program itself still says whose it is.
func TestAnotherExtensionsProgramIsNoticed(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	mustInstall(t, s, options(extension(t, "word", "one")))
	foreign := mustInstall(t, s, options(extension(t, "other", "two")))
	swapArtifact(t, s, foreign)
	v := verify(t, s, false)
	if detail := failed(v)["program"]; !strings.Contains(detail, "other") {
		t.Errorf("verify says %v", failed(v))
	}
}

// swapArtifact puts the artifact of another install into that of word, record included.
func swapArtifact(t *testing.T, s *install.Store, foreign install.Result) {
	t.Helper()
	artifact, err := os.ReadFile(filepath.Join(foreign.Generation, "loom_satellite"))
	if err != nil {
		t.Fatal(err)
	}
	path := load(t, s, "word").Artifact
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, artifact, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := install.Forge(s, "word", func(r *install.Record) {
		r.ArtifactDigest, r.ArtifactSize = foreign.Record.ArtifactDigest, foreign.Record.ArtifactSize
	}); err != nil {
		t.Fatal(err)
	}
}

// TestARebuildNoticesAnotherArtifact gives a record the digest of a satellite that was built from
// another source: only building again can tell.
func TestARebuildNoticesAnotherArtifact(t *testing.T) {
	s := install.Open(filepath.Join(t.TempDir(), "home"))
	other := install.Open(filepath.Join(t.TempDir(), "home"))
	mustInstall(t, s, options(extension(t, "word", "one")))
	foreign := mustInstall(t, other, options(extension(t, "word", "two")))
	swapArtifact(t, s, foreign)
	if quick := verify(t, s, false); !quick.OK {
		t.Fatalf("the forgery is not consistent: %v", failed(quick))
	}
	v := verify(t, s, true)
	if detail := failed(v)["rebuild"]; !strings.Contains(detail, foreign.Record.ArtifactDigest) {
		t.Errorf("verify says %v", failed(v))
	}
}
