package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestWorkspace(t *testing.T) {
	c, err := Decode([]byte("[workspace]\nprotected = [\".env\", \"deploy/keys\"]\n"), t.TempDir())
	if err != nil || !slices.Equal(c.Workspace.Protected, []string{".env", "deploy/keys"}) {
		t.Errorf("%+v, %v", c.Workspace, err)
	}
	for _, text := range []string{"", "[workspace]\n", "[workspace]\nprotected = []\n"} {
		if c, err := Decode([]byte(text), t.TempDir()); err != nil || c.Workspace.Protected != nil {
			t.Errorf("%q: %+v, %v", text, c.Workspace, err)
		}
	}
}

func TestFaultsOfAWorkspace(t *testing.T) {
	many := make([]string, maxProtected+1)
	for i := range many {
		many[i] = fmt.Sprintf("%q", fmt.Sprint("x", i))
	}
	const fix = `; write a name, like ".env", or a path relative to the workspace, like "deploy/keys"`
	for value, want := range map[string]string{
		`"a"`:                                  "[workspace] protected: expected an array of names or paths, found a string; put the value in brackets",
		`["/etc"]`:                             `[workspace] protected: "/etc" is absolute` + fix,
		`["../x"]`:                             `[workspace] protected: "../x" leads upwards` + fix,
		`["a/.."]`:                             `[workspace] protected: "a/.." leads upwards` + fix,
		`["a/"]`:                               `[workspace] protected: "a/" has a part that names nothing` + fix,
		`["./a"]`:                              `[workspace] protected: "./a" has a part that names nothing` + fix,
		`["."]`:                                `[workspace] protected: "." has a part that names nothing` + fix,
		`["` + strings.Repeat("x", 256) + `"]`: " has a part of more than 255 bytes" + fix,
		`["a", "a"]`:                           `[workspace] protected: "a" is named twice; name it once`,
		`[1]`:                                  "[workspace] protected: expected a string, found an integer; put the value in quotes",
		`[` + strings.Join(many, ",") + `]`:    "[workspace] protected: the array has 257 items, the bound is 256; name fewer",
	} {
		_, err := Decode([]byte("[workspace]\nprotected = "+value+"\n"), "/etc/loom")
		var fault *Error
		if !errors.As(err, &fault) || len(fault.Faults) != 1 || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%.80s: %v\nwant …%s", value, err, want)
		}
	}
	_, err := Decode([]byte("[workspace]\nprotect = []\n"), "/etc/loom")
	if err == nil || !strings.Contains(err.Error(), `protect: unknown key; did you mean "protected"?`) {
		t.Error(err)
	}
}

// FuzzWorkspace holds what is decoded to what may be protected.
func FuzzWorkspace(f *testing.F) {
	f.Add([]byte("[workspace]\nprotected = [\".env\", \"a/b\"]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Decode(text, "/etc/loom")
		if err != nil {
			return
		}
		for _, path := range c.Workspace.Protected {
			if path == "" || len(path) > maxPath || notInside(path) != "" {
				t.Errorf("%q", path)
			}
		}
	})
}
