package jail

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func jailPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/jail.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rowsOf are the names in the first column of the table under a heading, in order.
func rowsOf(t *testing.T, page, heading string) []string {
	t.Helper()
	_, text, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("docs/jail.md has no section %q", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var names []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]*)` \\|").FindAllStringSubmatch(text, -1) {
		names = append(names, row[1])
	}
	return names
}

func TestTheJailPageListsTheLayersOfALaunch(t *testing.T) {
	var want []string
	for _, s := range steps {
		want = append(want, s.name)
	}
	if got := rowsOf(t, jailPage(t), "Layers"); !slices.Equal(got, want) {
		t.Errorf("docs/jail.md has %q, and a launch %q", got, want)
	}
}

func TestTheJailPageListsTheLevels(t *testing.T) {
	want := []string{string(LevelFull), string(LevelNoCgroup), string(LevelNoUser), string(LevelNoLandlock), string(LevelNoNamespaces), string(LevelFilterOnly)}
	if got := rowsOf(t, jailPage(t), "Levels"); !slices.Equal(got, want) {
		t.Errorf("docs/jail.md has %q, want %q", got, want)
	}
}

// A container's profile must allow what the walls are made with. These are the
// calls that engines let only a privileged container make.
func TestTheJailPageListsTheCallsThatContainersRefuse(t *testing.T) {
	privileged := []string{
		"chroot", "clone", "clone3", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_tree", "open_tree_attr",
		"pivot_root", "ptrace", "setdomainname", "sethostname", "setns", "umount2", "unshare", "bpf", "perf_event_open", "quotactl",
	}
	made := map[string]bool{"clone": true} // of every launch, with the flags of namespaces
	note := func(p *program) {
		for _, c := range p.calls {
			if name := callName(arch, int(c.number)); slices.Contains(privileged, name) {
				made[name] = true
			}
		}
	}
	note(emptyRoot(3, 4))
	needNamespaces(t)
	for _, s := range []Spec{satelliteSpec(t, "exit"), {Path: child, Dir: "/", Profile: Build, ReadOnly: []string{"/usr"}},
		{Path: "/bin/true", Dir: WorkspaceDir, Profile: Proc, Workspace: workspaceOf(t, t.TempDir(), true, "a/b")}} {
		l := &launch{spec: s, options: Options{}, files: []uintptr{0, 1, 2}, image: -1, ruleset: -1, listener: -1, inner: -1, tree: -1}
		p, err := l.compose()
		if l.group != nil {
			l.group.remove()
		}
		if err != nil {
			t.Fatal(err)
		}
		note(p)
	}
	_, after, _ := strings.Cut(jailPage(t), "capability:")
	list, _, _ := strings.Cut(after, ".\n")
	told := map[string]bool{}
	for _, name := range regexp.MustCompile("`([a-z_0-9]+)`").FindAllStringSubmatch(list, -1) {
		told[name[1]] = true
	}
	if !reflect.DeepEqual(told, made) {
		t.Errorf("docs/jail.md tells of %v, and a host makes %v", told, made)
	}
}

// What a remedy tells to change is on the page, and the other way round.
func TestTheJailPageHasEveryRemedy(t *testing.T) {
	page := jailPage(t)
	m := usual.and(fixture{
		clonePath: "0", "proc/sys/vm/memfd_noexec": "2",
	}).machine(t, 1000)
	for _, remedy := range []string{
		m.remedyFor(layerNamespaces, unix.EPERM),
		usual.and(fixture{maxUserPath: "0"}).machine(t, 0).remedyFor(layerNamespaces, unix.ENOSPC),
		usual.and(fixture{apparmorPath: "1"}).machine(t, 1000).remedyFor(layerNamespaces, unix.EPERM),
		m.remedyFor(layerSealed, unix.EACCES),
		inDocker.machine(t, 0).remedyFor(layerNamespaces, unix.EPERM),
		usual.and(fixture{unifiedPath: "", systemdPath: ""}).machine(t, 1000).remedyFor(layerCgroup, nil),
		usual.and(fixture{releasePath: "4.4.0-19041-Microsoft"}).machine(t, 1000).remedyFor(layerNamespaces, nil),
	} {
		words := regexp.MustCompile(`(sysctl -w [a-z_.]+|kernel\.apparmor_[a-z_]+|--security-opt [a-z]+=[a-z]+|systemd-run (--user )?--scope|wsl --set-version)`).FindAllString(remedy, -1)
		if len(words) == 0 {
			t.Errorf("%q changes nothing", remedy)
		}
		for _, word := range words {
			if !strings.Contains(page, word) {
				t.Errorf("docs/jail.md does not have %q", word)
			}
		}
	}
}
