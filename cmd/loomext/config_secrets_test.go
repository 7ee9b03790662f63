package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/egress"
	"github.com/loomext/loomext/install"
)

// reachable is a directory that others can search, or the test is skipped.
func reachable(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there are no others here")
	}
	dir := t.TempDir()
	for _, own := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(own, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	probe := keyFile(t, dir, 0o604)
	if info, err := os.Stat(probe); err != nil || !othersRead(probe, info) {
		t.Skip("others cannot reach what a test writes here")
	}
	return dir
}

func keyFile(t *testing.T, dir string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(dir, "key")
	if err := os.WriteFile(path, []byte("canary77"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigCheckWarnsOfASecretThatOthersCanRead(t *testing.T) {
	dir := reachable(t)
	private := filepath.Join(dir, "private")
	if err := os.Mkdir(private, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(private, "key"), link); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		path string
		warn string
	}{
		"for its owner":                      {keyFile(t, dir, 0o600), ""},
		"for a group":                        {keyFile(t, mkdir(t, dir, "group"), 0o640), ""},
		"for all":                            {keyFile(t, mkdir(t, dir, "all"), 0o644), "whose mode is 0644; chmod it to 0600"},
		"for all, in a directory for one":    {keyFile(t, private, 0o644), ""},
		"a link for all, to one that is not": {link, ""},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := config.Config{Secrets: map[string]config.SecretSource{"KEY": {File: test.path}}}
			secrets := (&cli{streams: streams{env: environment()}}).secretsOf(loaded, nil)
			warnings := strings.Join(configWarnings(loaded, secrets, nil), "\n")
			if len(secrets) != 1 || !secrets[0].Available || (warnings == "") != (test.warn == "") || !strings.Contains(warnings, test.warn) {
				t.Errorf("got %+v, %q, want %q", secrets, warnings, test.warn)
			}
		})
	}
}

func TestConfigCheckWarnsOfAFileThatCanHoldNoSecret(t *testing.T) {
	for size, detail := range map[int]string{
		0:                    "it is empty",
		egress.MinSecret - 1: "it has 7 bytes, and a secret at least 8",
		egress.MinSecret:     "",
		egress.MaxSecret + 2: "", // with a line end
		egress.MaxSecret + 3: "it has 8195 bytes, and a secret at most 8192",
	} {
		path := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		loaded := config.Config{Secrets: map[string]config.SecretSource{"KEY": {File: path}}}
		secrets := (&cli{streams: streams{env: environment()}}).secretsOf(loaded, nil)
		warnings := configWarnings(loaded, secrets, nil)
		if secrets[0].Available != (detail == "") || secrets[0].Detail != detail || len(warnings) != 0 != (detail != "") {
			t.Errorf("%d bytes: %+v, %q; want %q", size, secrets[0], warnings, detail)
		}
	}
}

func mkdir(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Only an extension that may reach out asks for a secret.
func TestConfigCheckNamesWhoAsksForASecret(t *testing.T) {
	entry := func(name string, granted []string, names ...string) install.Entry {
		net := &install.RecordNet{}
		for _, env := range names {
			net.Secrets = append(net.Secrets, install.RecordSecret{Env: env})
		}
		return install.Entry{Name: name, Record: &install.Record{Granted: granted, Net: net}}
	}
	loaded := config.Config{Secrets: map[string]config.SecretSource{"COMMAND": {Command: []string{"no-such-program", "canary"}}, "UNUSED": {Command: []string{"no-such-program"}}}}
	secrets := (&cli{streams: streams{env: environment("SET=canary", "EMPTY=")}}).secretsOf(loaded, []install.Entry{
		entry("a", []string{"net"}, "SET", "SET", "COMMAND"),
		entry("b", []string{"clock", "net"}, "EMPTY", "SET"),
		entry("c", []string{"clock"}, "UNGRANTED"),
		{Name: "broken"},
		{Name: "offline", Record: &install.Record{Granted: []string{"net"}}},
	})
	want := []configSecret{
		{Name: "COMMAND", Source: "command", Place: "no-such-program", Detail: "it is not in PATH", Extensions: []string{"a"}},
		{Name: "EMPTY", Source: "environment", Detail: "the variable is not set, or empty", Extensions: []string{"b"}},
		{Name: "SET", Source: "environment", Available: true, Extensions: []string{"a", "b"}},
		{Name: "UNUSED", Source: "command", Place: "no-such-program", Detail: "it is not in PATH", Extensions: []string{}},
	}
	equal := func(a, b configSecret) bool {
		return a.Name == b.Name && a.Source == b.Source && a.Place == b.Place && a.Available == b.Available && a.Detail == b.Detail && slices.Equal(a.Extensions, b.Extensions)
	}
	if !slices.EqualFunc(secrets, want, equal) {
		t.Errorf("got  %+v\nwant %+v", secrets, want)
	}
}
