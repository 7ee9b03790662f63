package config

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/loomext/loomext/internal/tomlfile"
)

// format is what a config.toml may hold. The keys of [secrets] are names of variables.
func format(dir string) *tomlfile.Format {
	return &tomlfile.Format{
		Layer:    "config",
		Name:     tomlfile.PrintablePath(filepath.Join(dir, FileName)),
		Subject:  "the configuration",
		MaxBytes: MaxFile,
		Relief:   "remove what is no configuration",
		Discreet: true,
		Tables: []tomlfile.Rule{
			{Name: "egress", Keys: []string{"roots", "resolve", "private", "proxy"}},
			{Name: "ceilings", Keys: []string{"max_response_bytes", "timeout_ms"}},
			{Name: "secrets"},
			{Name: "hooks", Keys: []string{"order", "deadline_ms"}},
			{Name: "hooks.deadline_ms", Keys: events},
			{Name: "extension"},
			{Name: "workspace", Keys: []string{"protected"}},
			{Name: "proc", Keys: []string{"readable"}},
		},
	}
}

// Decode reads the text of a config.toml that stands in dir: relative paths in it begin there,
// and faults name it so. It reads the files of certificates that the text names, and no other.
// Path is left empty. It is total, and the error is an [*Error].
func Decode(text []byte, dir string) (Config, error) {
	root, r, ok := format(dir).Parse(text)
	if !ok {
		return Config{}, &Error{r.Faults()}
	}
	d := decoder{faults: r, c: Default()}
	var err error
	if d.dir, err = filepath.Abs(dir); err != nil {
		r.Add(0, "", "", "it is not known where relative paths begin: "+tomlfile.Printable(err.Error()), "start in a directory that is there")
	}
	r.Strays(root)
	if n, ok := root["egress"]; ok {
		d.egress(n)
	}
	if n, ok := root["ceilings"]; ok {
		d.ceilings(n)
	}
	if n, ok := root["secrets"]; ok {
		d.secrets(n)
	}
	if n, ok := root["hooks"]; ok {
		d.hooks(n)
	}
	if n, ok := root["extension"]; ok {
		d.extensions(n)
	}
	if n, ok := root["workspace"]; ok {
		d.workspace(n)
	}
	if n, ok := root["proc"]; ok {
		d.proc(n)
	}
	if r.Count() > 0 {
		return Config{}, &Error{r.Faults()}
	}
	return d.c, nil
}

// decoder fills one Config, table by table. What it holds is meaningful only if there are no
// faults.
type decoder struct {
	dir    string // absolute
	faults *tomlfile.Reading
	c      Config
}

func (d *decoder) ceilings(n tomlfile.Node) {
	s, ok := d.faults.Open("ceilings", n)
	if !ok {
		return
	}
	if n, ok := s.Get("max_response_bytes"); ok {
		d.c.Ceilings.MaxResponseBytes, _ = s.Number(n, "max_response_bytes", 1, MaxResponseBytes)
	}
	if n, ok := s.Get("timeout_ms"); ok {
		ms, _ := s.Number(n, "timeout_ms", 1, MaxTimeout.Milliseconds())
		d.c.Ceilings.Timeout = time.Duration(ms) * time.Millisecond
	}
}

// path reads the path of a file, made absolute.
func (d *decoder) path(s tomlfile.Section, n tomlfile.Node, key string) (string, bool) {
	v, ok := s.Text(n, key, maxPath, "")
	switch {
	case !ok:
		return "", false
	case v[0] == '~' || v[0] == '$':
		s.Fault(n, key, tomlfile.Quote(v)+" begins with what only a shell expands", "write the path out")
		return "", false
	case strings.HasSuffix(v, "/"):
		s.Fault(n, key, tomlfile.Quote(v)+" is a directory", "name a file")
		return "", false
	case !filepath.IsAbs(v):
		v = filepath.Join(d.dir, v)
	}
	return filepath.Clean(v), true
}
