package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/install"
	"github.com/loomext/loomext/jail"
	"github.com/loomext/loomext/vendorize"
)

// sick is an examination that found much, with what no terminal may obey in it.
func sick() doctorResult {
	return doctorResult{
		Machine: doctorMachine{Platform: "linux/amd64", Kernel: "6.8.0-45-generic", Distribution: "Ubuntu 24.04 LTS \x1b[31m", Container: "docker"},
		Checks: []doctorCheck{
			{checkJail, install.StateFailed, "only level no-namespaces: namespaces: mount was refused (EACCES)", "give /usr/bin/loomext an AppArmor profile with the rule userns (docs/jail.md has one), or accept the weaker level with --best-effort"},
			{checkToolchain, install.StateOK, "go1.26.8 at /usr/local/go/bin/go", ""},
			{checkStore, install.StateFailed, "/home/ada/.loom: 1 of 2 extensions cannot be used:\nbad\u202eone: the record is damaged", "install them again, or remove them"},
			{checkBuild, install.StateSkipped, "there is no jail to build in", ""},
		},
		Jail: doctorJail{Level: jail.LevelNoNamespaces, Layers: []doctorLayer{
			{Name: "sealed executable", State: jail.Enforced},
			{Name: "cgroup", State: jail.Skipped, Reason: "no group of this host hands on its memory and process limits", Errno: "EACCES", Remedy: "start the host in a group of its user's own: systemd-run --user --scope <command>"},
			{Name: "namespaces", State: jail.Skipped, Reason: "mount was refused", Errno: "EACCES", Remedy: "give /usr/bin/loomext an AppArmor profile with the rule userns (docs/jail.md has one)"},
			{Name: "landlock", State: jail.Enforced, Reason: "ABI 4; this kernel's cannot hold: control devices"},
		}},
	}
}

func TestDoctorTextIsAlignedAndEscaped(t *testing.T) {
	const golden = "testdata/doctor.golden"
	plain := doctorText(sick(), colors{})
	got := plain + "-- in color --\n" + strings.ReplaceAll(doctorText(sick(), colors{good: "<good>", bad: "<bad>", faint: "<faint>", off: "<off>"}), "\x1b", "<escape>")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if strings.ContainsAny(plain, "\x1b\u202e") {
		t.Error("not escaped")
	}
}

func TestDoctorConcludesFromItsChecks(t *testing.T) {
	well := doctorResult{OK: true, Complete: true, Jail: doctorJail{Level: jail.LevelFull}}
	weak := doctorResult{OK: true, Complete: true, BestEffort: true, Jail: doctorJail{Level: jail.LevelNoLandlock}}
	part := doctorResult{OK: true, Jail: doctorJail{Level: jail.LevelFull}}
	for want, r := range map[string]doctorResult{
		"work here, at the jail level full":                              well,
		"with --best-effort alone, at the weaker jail level no-landlock": weak,
		"nothing was built or called":                                    part,
		"do not work here as things are":                                 sick(),
		"do not work here, not with --best-effort either":                {BestEffort: true},
		"work here, at the jail level no-cgroup":                         {OK: true, Complete: true, BestEffort: true, Jail: doctorJail{Level: jail.LevelNoCgroup}},
	} {
		if got := conclusion(r); !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

func newTestExamination(t *testing.T) *examination {
	t.Helper()
	c := &cli{streams: streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard, env: environment()}}
	c.progress = newProgress(io.Discard, 0, c.env)
	return newExamination(c, install.Open(filepath.Join(t.TempDir(), "store")))
}

// The status is that of the first check that failed, by the layer of what failed in it.
func TestFirstFailedCheckDecides(t *testing.T) {
	fine := func() (string, error) { return "fine", nil }
	fails := func(err error) func() (string, error) { return func() (string, error) { return "", err } }
	noJail := &jail.Error{Place: "landlock", What: "the kernel offers none", Fix: "boot with it"}
	for _, tt := range []struct {
		name   string
		checks []func() (string, error)
		status int
		lines  []string
	}{
		{"none", []func() (string, error){fine, fine}, 0, nil},
		{"the second", []func() (string, error){fine, fails(errors.New("record: broken"))}, 16, []string{"record: second: broken"}},
		{"both", []func() (string, error){fails(&build.Error{Place: "go", What: "too old", Fix: "renew it"}), fails(errors.New("x"))}, 15,
			[]string{"compile: first: go: too old; renew it", "record: second: x"}},
		{"by its own layer", []func() (string, error){fails(fmt.Errorf("while building: %w", noJail))}, 18, []string{"jail: first: landlock: the kernel offers none; boot with it"}},
		{"by the layer it names", []func() (string, error){fails(&install.Error{Layer: install.LayerVetting, Err: errors.New("odd")})}, 13, []string{"vetting: first: odd"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := newTestExamination(t)
			for i, f := range tt.checks {
				e.check([]string{"first", "second"}[i], []install.Layer{install.LayerCompile, install.LayerRecord}[i], f)
			}
			err := e.verdict()
			var own *statusError
			if tt.status == 0 {
				if err != nil || !e.result.OK {
					t.Error(err)
				}
				return
			}
			if !errors.As(err, &own) || own.status != tt.status || e.result.OK {
				t.Errorf("%v, want status %d", err, tt.status)
			}
			if strings.Join(e.faults, "\n") != strings.Join(tt.lines, "\n") {
				t.Errorf("%q, want %q", e.faults, tt.lines)
			}
		})
	}
}

func TestJailIsJudgedByItsLevel(t *testing.T) {
	forbidden := doctorJail{Level: jail.LevelFilterOnly, Layers: []doctorLayer{
		{Name: "namespaces", State: jail.Skipped, Reason: "refused", Errno: "EPERM", Remedy: "allow them"},
		{Name: "cgroup", State: jail.Skipped, Reason: "none", Remedy: "not asked"},
		{Name: "landlock", State: jail.Skipped, Reason: "none", Errno: "ENOSYS", Remedy: "renew the kernel"},
	}}
	what, fix := partsOf(weaker(forbidden))
	if what != "only level filter-only: namespaces: refused (EPERM), landlock: none (ENOSYS)" {
		t.Error(what)
	}
	if fix != "allow them, or renew the kernel, or accept the weaker level with --best-effort" {
		t.Error(fix)
	}
	nothing := doctorJail{Layers: []doctorLayer{
		{Name: "cgroup", State: jail.Skipped, Reason: "nothing could be started"},
		{Name: "sealed executable", State: jail.Skipped, Reason: "no memory file", Errno: "EACCES", Remedy: "allow it"},
	}}
	if got := nothingStarts(nothing).Error(); got != "nothing can be started: sealed executable: no memory file (EACCES); allow it" {
		t.Error(got)
	}
	if got := nothingStarts(doctorJail{}).Error(); !strings.Contains(got, "run on Linux") {
		t.Error(got)
	}
}

func TestPlaceMustBeOnesOwn(t *testing.T) {
	dir := t.TempDir()
	at := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		return path
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), dangling); err != nil {
		t.Fatal(err)
	}
	at("outer", 0o755)
	inner := at("outer/inner", 0o702)
	for _, tt := range []struct{ name, dir, want string }{
		{"private", at("private", 0o700), ""},
		{"read by others", at("shown", 0o755), ""},
		{"written by a group", at("group", 0o720), "can be written by others (mode 0720)"},
		{"written by all, sticky or not", at("all", 0o777|os.ModeSticky), "can be written by others"},
		{"below it", filepath.Dir(inner), inner + " can be written by others"},
		{"not there", filepath.Join(dir, "private", "a", "b"), ""},
		{"a file", file, "is no directory"},
		{"below a file", filepath.Join(file, "x"), "is no directory"},
		{"a link to nowhere", dangling, "is a link to what is not there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, err := examine(tt.dir)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if _, err := os.Lstat(tt.dir); found.missing != errors.Is(err, os.ErrNotExist) && tt.want == "" {
				t.Errorf("missing %v, and %v", found.missing, err)
			}
		})
	}
	entries, err := os.ReadDir(at("private", 0o700))
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if os.Geteuid() == 0 {
		other := at("other", 0o700)
		if err := os.Chown(other, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if _, err := examine(other); err == nil || !strings.Contains(err.Error(), "belongs to user 12345") {
			t.Error(err)
		}
	} else {
		locked := at("locked", 0o500)
		if _, err := examine(locked); err == nil || !strings.Contains(err.Error(), "cannot be written to") {
			t.Error(err)
		}
	}
}

// What doctor says is needed is what a build's own go.mod asks for.
func TestNeedsGoIsWhatABuildNeeds(t *testing.T) {
	root, err := vendorize.New("example.com/x")
	if err != nil {
		t.Fatal(err)
	}
	mod, _ := root.File("go.mod")
	if want := "\ngo " + strings.TrimPrefix(needsGo, "go") + "\n"; !strings.Contains(string(mod), want) {
		t.Errorf("doctor says %s, and go.mod\n%s", needsGo, mod)
	}
}
