package apart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func judged(t *testing.T, dir, own string) string {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fault := Workspace(f, own)
	if fault == nil {
		return ""
	}
	return fault.Why
}

// A home that is not there yet would be made in a directory that holds it.
func TestAHomeThatIsNotThereIsJudgedByWhereItWouldBe(t *testing.T) {
	base := t.TempDir()
	for _, dir := range []string{"users", "beside", "loom"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", filepath.Join(base, "users/ada/deep"))
	own := filepath.Join(base, "loom/new")
	for dir, want := range map[string]string{"users": "user's home", ".": "user's home", "beside": "", "loom": "loomext's own home"} {
		if got := judged(t, filepath.Join(base, dir), own); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q", dir, got)
		}
	}
	if got := judged(t, filepath.Join(base, "loom"), ""); got != "" {
		t.Error(got)
	}
}

// Where the environment names no home, it is that of the account.
func TestAHomeThatTheEnvironmentDoesNotNameIsTheAccounts(t *testing.T) {
	named := UserHome()
	t.Setenv("HOME", "")
	got := UserHome()
	if got == "" {
		t.Skip("the account has no entry here")
	}
	t.Logf("%s; the environment says %s", got, named)
	if info, err := os.Stat(got); err != nil || !info.IsDir() || got == "/" {
		t.Skip("the account's home is not there")
	}
	if why := judged(t, got, ""); !strings.Contains(why, "user's home") {
		t.Errorf("%q", why)
	}
}

func TestAPathIsCutAtWholeParts(t *testing.T) {
	for _, c := range []struct {
		path, dir, rest string
		is              bool
	}{{"/a/b", "/a", "/b", true}, {"/a", "/a", "", true}, {"/ab", "/a", "", false}, {"/a", "/a/b", "", false}, {"/a", "/", "/a", true}, {"/", "/", "", true}, {"", "/", "", false}} {
		if rest, is := cut(c.path, c.dir); rest != c.rest && is || is != c.is {
			t.Errorf("%q in %q: %q, %v", c.path, c.dir, rest, is)
		}
	}
}
