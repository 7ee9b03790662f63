package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loomext/loomext/internal/tomlfile"
)

func (d *decoder) net(n tomlfile.Node) {
	s, ok := d.open("net", n)
	if !ok {
		return
	}
	net := &Net{MaxResponseBytes: DefaultMaxResponseBytes, RequestsPerCall: DefaultRequestsPerCall}
	if n, ok := s.Need("hosts", `["api.example.com"]`); ok {
		if items, ok := s.Some(n, "hosts", maxHosts, "host names"); ok {
			net.Hosts = s.Hosts(items, "hosts")
		}
	}
	if n, ok := s.Need("methods", `["GET"]`); ok {
		net.Methods = s.methods(n)
	}
	if n, ok := s.Get("max_response_bytes"); ok {
		net.MaxResponseBytes, _ = s.Number(n, "max_response_bytes", 1, maxInteger)
	}
	if n, ok := s.Get("requests_per_call"); ok {
		calls, _ := s.Number(n, "requests_per_call", 1, 1<<31-1)
		net.RequestsPerCall = int(calls)
	}
	for _, item := range d.faults.Each("net.secret", s.Values) {
		if len(net.Secrets) == maxSecrets {
			d.faults.Add(item.Line, "net.secret", "", fmt.Sprintf("there are more than %d secrets", maxSecrets), "name fewer")
			break
		}
		if secret, ok := d.secret(item, net); ok {
			net.Secrets = append(net.Secrets, secret)
		}
	}
	slices.SortFunc(net.Secrets, func(a, b Secret) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Header, b.Header))
	})
	d.m.net = net
}

func (s section) methods(n tomlfile.Node) []string {
	items, ok := s.Some(n, "methods", len(methods), "methods")
	if !ok {
		return nil
	}
	var asked []string
	for _, item := range items {
		method, ok := s.Text(item, "methods", MaxName, "")
		if !ok {
			continue
		}
		if !slices.Contains(methods, method) {
			s.Fault(item, "methods", "there is no method "+tomlfile.Quote(method), tomlfile.Choose(method, methods))
		} else if s.Distinct(item, "methods", method, asked) {
			asked = append(asked, method)
		}
	}
	slices.Sort(asked)
	return asked
}

func (d *decoder) secret(n tomlfile.Node, net *Net) (Secret, bool) {
	before := d.faults.Count()
	s, ok := d.open("net.secret", n)
	if !ok {
		return Secret{}, false
	}
	secret := Secret{Format: "{}"}
	if n, ok := s.Need("env", `"API_KEY"`); ok {
		secret.Env, _ = s.Word(n, "env", tomlfile.Variable)
	}
	if n, ok := s.Need("host", `"api.example.com"`); ok {
		secret.Host, ok = s.Text(n, "host", 2*tomlfile.MaxHost, "")
		if ok && len(net.Hosts) > 0 && !slices.Contains(net.Hosts, secret.Host) {
			s.Fault(n, "host", tomlfile.Quote(secret.Host)+" is not one of hosts", tomlfile.Choose(secret.Host, net.Hosts))
		}
	}
	if n, ok := s.Need("header", `"Authorization"`); ok {
		secret.Header, ok = s.Word(n, "header", headerWord)
		if why, reserved := reservedHeader(secret.Header); ok && reserved {
			s.Fault(n, "header", "a secret cannot travel in "+tomlfile.Quote(secret.Header)+": "+why, "use the header that the service documents")
		}
	}
	if n, ok := s.Get("format"); ok {
		secret.Format, ok = s.Text(n, "format", maxFormat, "")
		if ok {
			s.format(n, secret.Format)
		}
	}
	for _, other := range net.Secrets {
		if other.Host == secret.Host && strings.EqualFold(other.Header, secret.Header) {
			d.faults.Add(s.Line, s.Name, "", "another secret fills "+tomlfile.Quote(secret.Header)+" for "+tomlfile.Quote(secret.Host), "send one of them")
		}
	}
	return secret, d.faults.Count() == before
}

// format checks a header value with its one placeholder.
func (s section) format(n tomlfile.Node, v string) {
	if strings.Count(v, "{}") != 1 || strings.Count(v, "{") != 1 || strings.Count(v, "}") != 1 {
		s.Fault(n, "format", tomlfile.Quote(v)+" has not exactly one {}", `write it once where the secret goes, like "Bearer {}"`)
	}
	if strings.TrimSpace(v) != v || strings.IndexFunc(v, func(r rune) bool { return r > '~' }) >= 0 {
		s.Fault(n, "format", tomlfile.Quote(v)+" is no header value", "write ASCII without space at the ends")
	}
}

func (d *decoder) proc(n tomlfile.Node) {
	s, ok := d.open("proc", n)
	if !ok {
		return
	}
	proc := &Proc{}
	d.m.proc = proc
	n, ok = s.Need("commands", `[["go", "vet"]]`)
	if !ok {
		return
	}
	items, ok := s.Some(n, "commands", maxCommands, "arrays of words")
	if !ok {
		return
	}
	for _, item := range items {
		if argv, ok := s.Argv(item, "commands", maxCommandWords, maxArgument); ok {
			if slices.ContainsFunc(proc.Commands, func(c []string) bool { return slices.Equal(c, argv) }) {
				s.Fault(item, "commands", "this command is named twice", "name it once")
			}
			proc.Commands = append(proc.Commands, argv)
		}
	}
	slices.SortFunc(proc.Commands, slices.Compare)
	if n, ok := s.Get("env"); ok {
		d.commandEnv(s, n)
	}
}

// commandEnv reads the names of the variables that commands get.
func (d *decoder) commandEnv(s section, n tomlfile.Node) {
	items, ok := s.Array(n, "env", maxCommandEnv, "names of variables")
	if !ok {
		return
	}
	proc := d.m.proc
	for _, item := range items {
		name, ok := s.Word(item, "env", tomlfile.Variable)
		if !ok || !s.Distinct(item, "env", name, proc.Env) {
			continue
		}
		if why := NotForCommands(name); why != "" {
			s.Fault(item, "env", tomlfile.Quote(name)+" is no variable for commands: "+why, "leave it out")
		}
		proc.Env = append(proc.Env, name)
	}
	slices.Sort(proc.Env)
}

// What in the name of a variable says, by custom, that its value is a secret, or an address with one in it.
var secretParts = []string{"KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE", "SESSION", "PRIVATE",
	"DSN", "URL", "URI", "PROXY", "WEBHOOK"}

// Variables whose values are the host's to choose, or have a program run another.
var (
	ownVariables = []string{"PATH", "HOME", "TMPDIR", "LANG", "PWD",
		"BASH_ENV", "ENV", "SHELLOPTS", "IFS", "PYTHONSTARTUP", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS"}
	ownPrefixes = []string{"LD_", "LOOM", "GIT_"}
)

// NotForCommands says why a command may not have a variable of the host's, by its name; empty is that it may.
func NotForCommands(name string) string {
	switch {
	case slices.Contains(ownVariables, name), slices.ContainsFunc(ownPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }):
		return "it decides what programs run or where they look"
	case slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(name, part) }):
		return "its name is one of those that hold secrets"
	}
	return ""
}

func (d *decoder) limits(n tomlfile.Node) {
	s, ok := d.open("limits", n)
	if !ok {
		return
	}
	if n, ok := s.Get("memory_mb"); ok {
		mb, _ := s.Number(n, "memory_mb", minMemoryMB, maxMemoryMB)
		d.m.limits.MemoryMB = int(mb)
	}
}
