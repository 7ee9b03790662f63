package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestReadable(t *testing.T) {
	home := t.TempDir()
	c, err := Decode([]byte("[proc]\nreadable = [\"/opt/tool\", \"/home/me/go/pkg/mod\", \"/etc/ssl\"]\n"), home)
	if err != nil || !slices.Equal(c.Proc.Readable, []string{"/opt/tool", "/home/me/go/pkg/mod", "/etc/ssl"}) {
		t.Errorf("%v, %v", c.Proc, err)
	}
	for _, text := range []string{"", "[proc]\n", "[proc]\nreadable = []\n"} {
		if c, err := Decode([]byte(text), home); err != nil || len(c.Proc.Readable) != 0 {
			t.Errorf("%q: %v, %v", text, c.Proc, err)
		}
	}
	for path, says := range map[string]string{
		"/": "more is in it than one program", "/etc": "more is in it", "/home": "more is in it", "/root": "more is in it", "/tmp": "more is in it", "/var": "more is in it",
		"/mnt": "more is in it", "/media": "more is in it", "/boot": "more is in it",
		"/proc": "not shown to commands", "/proc/self": "not shown", "/sys": "not shown", "/dev/shm": "not shown", "/run/user": "not shown", "/var/run/x": "not shown", "/workspace/x": "not shown",
		home: "this home", home + "/keys": "this home",
		"opt/tool": "no absolute path", "/opt/": "no absolute path", "/opt/../etc": "no absolute path", "/opt//tool": "no absolute path", "~/tool": "no absolute path", "": "empty",
		"/opt/\\u202etool": "invisible", "/" + strings.Repeat("x", maxPath): "bytes",
	} {
		_, err := Decode([]byte("[proc]\nreadable = [\""+path+"\"]\n"), home)
		if fault, ok := errors.AsType[*Error](err); !ok || len(fault.Faults) != 1 || !strings.Contains(err.Error(), "config.toml:2: [proc] readable: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40s: %v, want %q", path, err, says)
		}
	}
	for text, says := range map[string]string{
		"[proc]\nreadable = \"/opt\"\n":              "expected an array of paths, found a string",
		"[proc]\nreadable = [1]\n":                   "expected a string",
		"[proc]\nreadable = [\"/opt\", \"/opt\"]\n":  "is named twice",
		"[proc]\nwritable = [\"/opt\"]\n":            "unknown key",
		"[proc]\ncommands = [[\"go\"]]\n":            "unknown key",
		"proc = 1\n":                                 "expected a table",
		"[proc]\nreadable = [" + many(maxReadable+1): "17",
	} {
		if _, err := Decode([]byte(text), home); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.60q: %v, want %q", text, err, says)
		}
	}
	if _, err := Decode([]byte("[proc]\nreadable = ["+many(maxReadable)), home); err != nil {
		t.Error(err)
	}
}

// many is the rest of a list of so many paths.
func many(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%q", fmt.Sprintf("/opt/%d", i)))
	}
	return strings.Join(list, ", ") + "]\n"
}
