package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

func (d *decoder) net(n node) {
	s, ok := open("net", n, d.faults)
	if !ok {
		return
	}
	net := &Net{MaxResponseBytes: DefaultMaxResponseBytes, RequestsPerCall: DefaultRequestsPerCall}
	if n, ok := s.need("hosts", `["api.example.com"]`); ok {
		net.Hosts = s.hosts(n)
	}
	if n, ok := s.need("methods", `["GET"]`); ok {
		net.Methods = s.methods(n)
	}
	if n, ok := s.get("max_response_bytes"); ok {
		net.MaxResponseBytes, _ = s.number(n, "max_response_bytes", 1, maxInteger)
	}
	if n, ok := s.get("requests_per_call"); ok {
		calls, _ := s.number(n, "requests_per_call", 1, 1<<31-1)
		net.RequestsPerCall = int(calls)
	}
	for _, item := range d.each("net.secret", s.values) {
		if len(net.Secrets) == maxSecrets {
			d.faults.add(item.line, "net.secret", "", fmt.Sprintf("there are more than %d secrets", maxSecrets), "name fewer")
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

func (s section) hosts(n node) []string {
	items, ok := s.some(n, "hosts", maxHosts, "host names")
	if !ok {
		return nil
	}
	var hosts []string
	for _, item := range items {
		host, ok := s.text(item, "hosts", 2*maxHost, "")
		if !ok {
			continue
		}
		if msg, fix, bad := hostFault(host); bad {
			s.fault(item, "hosts", msg, fix)
		} else if s.distinct(item, "hosts", host, hosts) {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return hosts
}

func (s section) methods(n node) []string {
	items, ok := s.some(n, "methods", len(methods), "methods")
	if !ok {
		return nil
	}
	var asked []string
	for _, item := range items {
		method, ok := s.text(item, "methods", MaxName, "")
		if !ok {
			continue
		}
		if !slices.Contains(methods, method) {
			s.fault(item, "methods", "there is no method "+quote(method), choose(method, methods))
		} else if s.distinct(item, "methods", method, asked) {
			asked = append(asked, method)
		}
	}
	slices.Sort(asked)
	return asked
}

// some reads an array that must not be empty.
func (s section) some(n node, key string, bound int, of string) (list, bool) {
	items, ok := s.array(n, key, bound, of)
	if ok && len(items) == 0 {
		s.fault(n, key, "the array is empty", "name what is needed")
		return nil, false
	}
	return items, ok
}

func (d *decoder) secret(n node, net *Net) (Secret, bool) {
	before := len(*d.faults)
	s, ok := open("net.secret", n, d.faults)
	if !ok {
		return Secret{}, false
	}
	secret := Secret{Format: "{}"}
	if n, ok := s.need("env", `"API_KEY"`); ok {
		secret.Env, _ = s.word(n, "env", envWord)
	}
	if n, ok := s.need("host", `"api.example.com"`); ok {
		secret.Host, ok = s.text(n, "host", 2*maxHost, "")
		if ok && len(net.Hosts) > 0 && !slices.Contains(net.Hosts, secret.Host) {
			s.fault(n, "host", quote(secret.Host)+" is not one of hosts", choose(secret.Host, net.Hosts))
		}
	}
	if n, ok := s.need("header", `"Authorization"`); ok {
		secret.Header, ok = s.word(n, "header", headerWord)
		if why, reserved := reservedHeader(secret.Header); ok && reserved {
			s.fault(n, "header", "a secret cannot travel in "+quote(secret.Header)+": "+why, "use the header that the service documents")
		}
	}
	if n, ok := s.get("format"); ok {
		secret.Format, ok = s.text(n, "format", maxFormat, "")
		if ok {
			s.format(n, secret.Format)
		}
	}
	for _, other := range net.Secrets {
		if other.Host == secret.Host && strings.EqualFold(other.Header, secret.Header) {
			s.faults.add(s.line, s.name, "", "another secret fills "+quote(secret.Header)+" for "+quote(secret.Host), "send one of them")
		}
	}
	return secret, len(*d.faults) == before
}

// format checks a header value with its one placeholder.
func (s section) format(n node, v string) {
	if strings.Count(v, "{}") != 1 || strings.Count(v, "{") != 1 || strings.Count(v, "}") != 1 {
		s.fault(n, "format", quote(v)+" has not exactly one {}", `write it once where the secret goes, like "Bearer {}"`)
	}
	if strings.TrimSpace(v) != v || strings.IndexFunc(v, func(r rune) bool { return r > '~' }) >= 0 {
		s.fault(n, "format", quote(v)+" is no header value", "write ASCII without space at the ends")
	}
}

func (d *decoder) proc(n node) {
	s, ok := open("proc", n, d.faults)
	if !ok {
		return
	}
	proc := &Proc{}
	d.m.proc = proc
	n, ok = s.need("commands", `[["go", "vet"]]`)
	if !ok {
		return
	}
	items, ok := s.some(n, "commands", maxCommands, "arrays of words")
	if !ok {
		return
	}
	for _, item := range items {
		if argv, ok := s.argv(item); ok {
			if slices.ContainsFunc(proc.Commands, func(c []string) bool { return slices.Equal(c, argv) }) {
				s.fault(item, "commands", "this command is named twice", "name it once")
			}
			proc.Commands = append(proc.Commands, argv)
		}
	}
	slices.SortFunc(proc.Commands, slices.Compare)
}

// argv reads one command prefix. Only the exact words will match, so each is
// kept as it is. The first is the name of a program or an absolute path; a
// relative path would mean another program in another directory.
func (s section) argv(n node) ([]string, bool) {
	items, ok := s.some(n, "commands", maxCommandWords, "words")
	if !ok {
		return nil, false
	}
	argv := make([]string, 0, len(items))
	for i, item := range items {
		word, ok := s.text(item, "commands", maxArgument, "")
		if !ok {
			return nil, false
		}
		if i == 0 && !isProgram(word) {
			s.fault(item, "commands", quote(word)+" is neither the name of a program nor an absolute path to one",
				`write each word by itself, like ["go", "vet"]`)
			return nil, false
		}
		argv = append(argv, word)
	}
	return argv, true
}

func (d *decoder) limits(n node) {
	s, ok := open("limits", n, d.faults)
	if !ok {
		return
	}
	if n, ok := s.get("memory_mb"); ok {
		mb, _ := s.number(n, "memory_mb", minMemoryMB, maxMemoryMB)
		d.m.limits.MemoryMB = int(mb)
	}
}
