package manifest

import (
	"cmp"
	"slices"
	"strings"
)

// tableNames are the tables of a file, in the order messages name them.
var tableNames = []string{"extension", "config", "tool", "hook", "net", "proc", "limits"}

// Decode reads an extension.toml and checks what it promises about the tree. On
// failure the error is [Faults], and nothing of the Manifest may be used.
func Decode(text []byte, files Files) (Manifest, error) {
	root, faults, ok := parse(text)
	if !ok {
		return Manifest{}, faults.sorted()
	}
	d := decoder{files: files, faults: &faults}
	d.tables(root.value.(table))
	if len(faults) > 0 {
		return Manifest{}, faults.sorted()
	}
	if err := d.m.seal(); err != nil {
		// The bounds on every part make this unreachable for a file; saying so
		// beats a digest over nothing.
		faults.add(1, "", "", "the manifest has no canonical form: "+err.Error(), "write smaller values")
		return Manifest{}, faults
	}
	return d.m, nil
}

// decoder fills one Manifest, table by table. What it holds is meaningful only
// if faults stays empty.
type decoder struct {
	files  Files
	faults *Faults
	m      Manifest

	packages []string
	compiled map[string]compiled // by schema path
	doubt    bool                // requests is faulty: what is missing from it may be meant to be there
}

func (d *decoder) tables(root table) {
	if d.files != nil {
		d.packages = d.files.Packages()
	}
	for _, name := range root.byLine() {
		if !slices.Contains(tableNames, name) {
			d.strayTable(name, root[name])
		}
	}
	d.extension(root)
	if n, ok := root["config"]; ok {
		d.config(n)
	}
	for _, n := range d.each("tool", root) {
		d.tool(n)
	}
	for _, n := range d.each("hook", root) {
		d.hook(n)
	}
	if n, ok := root["net"]; ok {
		d.net(n)
	}
	if n, ok := root["proc"]; ok {
		d.proc(n)
	}
	if n, ok := root["limits"]; ok {
		d.limits(n)
	}
	d.together(root)
	slices.SortFunc(d.m.tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(d.m.hooks, func(a, b Hook) int { return cmp.Compare(a.Event, b.Event) })
}

// strayTable reports a top-level key that no table goes by.
func (d *decoder) strayTable(name string, n node) {
	_, isTable := n.value.(table)
	_, isList := n.value.(list)
	switch {
	case slices.Contains(durableTables, name):
		d.faults.add(n.line, name, "", "this table is not yet supported by this loomext",
			"remove it, or install with a loomext that has the durable plane")
	case isTable || isList:
		fix := "an extension has " + strings.Join(tableNames, ", ")
		if near, ok := nearest(name, tableNames); ok {
			fix = "did you mean " + header(near) + "?"
		}
		d.faults.add(n.line, printable(name), "", "unknown table", fix)
	default:
		fix := "every key stands in a table: an extension has " + strings.Join(tableNames, ", ")
		for _, t := range tableNames {
			if slices.Contains(tableKeys[t], name) {
				fix = "it belongs under " + header(t)
				break
			}
		}
		d.faults.add(n.line, "", printable(name), "unknown key at the top level", fix)
	}
}

// each lists the tables of an array of tables.
func (d *decoder) each(name string, parent table) list {
	n, ok := parent[name[strings.LastIndexByte(name, '.')+1:]]
	if !ok {
		return nil
	}
	items, ok := n.value.(list)
	if !ok {
		d.faults.add(n.line, name, "", "expected an array of tables, found "+n.kind(), "write "+header(name))
	}
	return items
}

func (d *decoder) extension(root table) {
	d.doubt = true
	n, ok := root["extension"]
	if !ok {
		d.faults.add(1, "extension", "", "this table is missing", "begin the file with [extension]")
		return
	}
	s, ok := open("extension", n, d.faults)
	if !ok {
		return
	}
	d.doubt = slices.Contains(s.meant, "requests")
	if n, ok := s.need("name", `"my_extension"`); ok {
		d.m.name, _ = s.word(n, "name", nameWord)
	}
	d.m.version = "0.0.0"
	if n, ok := s.get("version"); ok {
		d.m.version = s.version(n)
	}
	if n, ok := s.need("description", `"one line for the operator"`); ok {
		d.m.description, _ = s.text(n, "description", maxDescription, "")
	}
	if n, ok := s.get("license"); ok {
		d.m.license = s.license(n)
	}
	d.m.tier = "jailed"
	if n, ok := s.get("tier"); ok {
		if tier, ok := s.text(n, "tier", MaxName, ""); ok && tier != "jailed" {
			s.fault(n, "tier", "there is no tier "+quote(tier), `write "jailed", the only tier that installs`)
		}
	}
	if n, ok := s.get("requests"); ok {
		d.requests(s, n)
	}
}

func (d *decoder) requests(s section, n node) {
	before := len(*d.faults)
	defer func() { d.doubt = len(*d.faults) > before }()
	items, ok := s.array(n, "requests", 2*len(capabilities)+len(durableCapabilities), "capability names")
	if !ok {
		return
	}
	for _, item := range items {
		c, ok := s.text(item, "requests", MaxName, "")
		if !ok {
			continue
		}
		switch {
		case slices.Contains(durableCapabilities, c):
			s.fault(item, "requests", quote(c)+" needs the durable plane, which this loomext does not have", "remove it")
		case c == "fs":
			s.fault(item, "requests", "there is no capability \"fs\"", "use fs_read, fs_write or both")
		case c == "report":
			s.fault(item, "requests", "every extension may report; it is never requested", `remove "report"`)
		case !slices.Contains(capabilities, c):
			s.fault(item, "requests", "there is no capability "+quote(c), choose(c, capabilities))
		case s.distinct(item, "requests", c, d.m.requests):
			d.m.requests = append(d.m.requests, c)
		}
	}
	slices.Sort(d.m.requests)
}

// together checks what no table can know alone.
func (d *decoder) together(root table) {
	line := 1
	ext, _ := root["extension"].value.(table)
	if n, ok := root["extension"]; ok {
		line = n.line
	}
	if n, ok := ext["requests"]; ok {
		line = n.line
	}
	for _, name := range []string{"net", "proc"} {
		n, there := root[name]
		asked := slices.Contains(d.m.requests, name)
		switch {
		case there && !asked && !d.doubt:
			d.faults.add(n.line, name, "", "the table is here, but requests does not ask for "+quote(name),
				"add "+quote(name)+" to requests, or remove the table")
		case asked && !there:
			d.faults.add(line, "extension", "requests", quote(name)+" is requested, but there is no ["+name+"] table",
				"add the table, or remove the request")
		}
	}
	_, tools := root["tool"]
	_, hooks := root["hook"]
	if ext != nil && !tools && !hooks {
		d.faults.add(root["extension"].line, "extension", "", "the extension has no tool and no hook, so nothing would ever call it",
			"add a [[tool]] or a [[hook]]")
	}
}
