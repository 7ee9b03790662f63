package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loomext/loomext/config"
	"github.com/loomext/loomext/egress"
	"github.com/loomext/loomext/escape"
	"github.com/loomext/loomext/install"
)

// configSecret is where one secret comes from. It has the program of a command and not its
// arguments: there is no telling what people write there.
type configSecret struct {
	Name       string   `json:"name"`
	Source     string   `json:"source"`
	Place      string   `json:"place"`
	Available  bool     `json:"available"`
	Detail     string   `json:"detail"`
	Extensions []string `json:"extensions"`

	exposed fs.FileMode // of a file that others can read; else 0
}

// The sources of a secret.
const (
	sourceFile        = "file"
	sourceCommand     = "command"
	sourceEnvironment = "environment"
)

// secretsOf lists, by name, every secret that the configuration or an extension names.
func (c *cli) secretsOf(loaded config.Config, entries []install.Entry) []configSecret {
	users := map[string][]string{}
	for name := range loaded.Secrets {
		users[name] = []string{}
	}
	for _, entry := range entries {
		if entry.Record == nil || entry.Record.Net == nil || !slices.Contains(entry.Record.Granted, "net") {
			continue
		}
		for _, secret := range entry.Record.Net.Secrets {
			if !slices.Contains(users[secret.Env], entry.Name) {
				users[secret.Env] = append(users[secret.Env], entry.Name)
			}
		}
	}
	var secrets []configSecret
	for _, name := range slices.Sorted(maps.Keys(users)) {
		secret := configSecret{Name: name, Extensions: users[name]}
		source, named := loaded.Secrets[name]
		switch {
		case !named:
			secret.fromEnvironment(c.env)
		case source.File != "":
			secret.fromFile(source.File)
		default:
			secret.fromCommand(source.Command[0])
		}
		secrets = append(secrets, secret)
	}
	return secrets
}

func (s *configSecret) fromEnvironment(env func(string) string) {
	s.Source = sourceEnvironment
	if s.Available = env(s.Name) != ""; !s.Available {
		s.Detail = "the variable is not set, or empty"
	}
}

// fromFile asks whether the file could be read and hold a secret, and reads nothing of it.
func (s *configSecret) fromFile(path string) {
	s.Source, s.Place = sourceFile, path
	info, err := os.Stat(path)
	switch {
	case err != nil:
		s.Detail = cause(err)
		return
	case !info.Mode().IsRegular():
		s.Detail = "it is no regular file"
		return
	case info.Size() == 0:
		s.Detail = "it is empty"
		return
	case info.Size() < egress.MinSecret:
		s.Detail = fmt.Sprintf("it has %d bytes, and a secret at least %d", info.Size(), egress.MinSecret)
		return
	case info.Size() > egress.MaxSecret+int64(len("\r\n")): // a line end does not belong to the secret
		s.Detail = fmt.Sprintf("it has %d bytes, and a secret at most %d", info.Size(), egress.MaxSecret)
		return
	}
	file, err := os.Open(path)
	if err != nil {
		s.Detail = cause(err)
		return
	}
	_ = file.Close()
	s.Available = true
	if othersRead(path, info) {
		s.exposed = info.Mode().Perm()
	}
}

// fromCommand asks whether the program is there and does not run it.
func (s *configSecret) fromCommand(program string) {
	s.Source, s.Place = sourceCommand, program
	if _, err := exec.LookPath(program); err != nil {
		s.Detail = cause(err)
		return
	}
	s.Available = true
}

// cause is an error without the name of what it is about.
func cause(err error) string {
	var path *fs.PathError
	var program *exec.Error
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "it is not in PATH"
	case errors.As(err, &path):
		return path.Err.Error()
	case errors.As(err, &program):
		return program.Err.Error()
	}
	return err.Error()
}

// othersRead reports whether any user of the machine can read a file: its own mode lets them,
// and so does every directory on the way to it.
func othersRead(path string, info fs.FileInfo) bool {
	const read, search = 0o004, 0o001
	path, err := filepath.EvalSymlinks(path)
	if err != nil || info.Mode()&read == 0 {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err != nil || info.Mode()&search == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// cells is a row for people, escaped.
func (s configSecret) cells() []string {
	from := "from the " + s.Source
	if s.Place != "" {
		from += " " + escape.Line(s.Place)
	}
	if !s.Available {
		from = "not to be had " + from + ": " + escape.Line(s.Detail)
	}
	users := "for " + escape.Line(strings.Join(s.Extensions, ", "))
	if len(s.Extensions) == 0 {
		users = "for no extension"
	}
	return []string{escape.Line(s.Name), users, from}
}

// configWarnings are what is no fault of the file and will be one of a session.
func configWarnings(loaded config.Config, secrets []configSecret, entries []install.Entry) []string {
	var warnings []string
	warn := func(format string, args ...any) { warnings = append(warnings, "config: "+fmt.Sprintf(format, args...)) }
	if info, err := os.Stat(loaded.Path); loaded.Path != "" && err == nil && info.Mode()&0o002 != 0 {
		warn("%s: others can write it, and it says which programs run; chmod o-w it", loaded.Path)
	}
	now := time.Now()
	for _, root := range loaded.Egress.Roots {
		if now.After(root.NotAfter) || now.Before(root.NotBefore) {
			warn("[egress] roots: %s holds from %s to %s, which is not now; replace it", root.Subject,
				root.NotBefore.UTC().Format(time.DateOnly), root.NotAfter.UTC().Format(time.DateOnly))
		}
	}
	for _, route := range loaded.Egress.Resolve {
		if isInside(route.Address.Addr()) && !slices.Contains(loaded.Egress.Private, route.Host) {
			warn("[egress] resolve: %s is routed to %s, an address that only a host in private may have; add it there", route.Host, route.Address)
		}
	}
	for _, path := range loaded.Proc.Readable {
		if _, err := os.Stat(path); err != nil {
			warn("[proc] readable: %s cannot be had: %s, so no command is run; correct the path, or take it out", path, reason(err))
		}
	}
	for _, s := range secrets {
		place := "[secrets] " + s.Name
		switch {
		case !s.Available && s.Source == sourceEnvironment:
			warn("%s: %s, and %s asks for it; set it, or write where it comes from", place, s.Detail, strings.Join(s.Extensions, " and "))
		case !s.Available:
			warn("%s: the %s %s cannot be used: %s; correct that, or the entry", place, s.Source, s.Place, s.Detail)
		case s.exposed != 0:
			warn("%s: others can read %s, whose mode is %04o; chmod it to 0600", place, s.Place, s.exposed)
		}
	}
	for _, entry := range entries {
		if entry.Record == nil {
			warn("%s: the install is broken, so what secrets it names is not known; see loomext list", entry.Name)
		}
	}
	return warnings
}

// isInside is an address of this machine or this network.
func isInside(addr netip.Addr) bool { return !addr.IsGlobalUnicast() || addr.IsPrivate() }
