package manifest

import (
	"cmp"
	"slices"

	"github.com/loomext/loomext/internal/tomlfile"
)

// Decode reads an extension.toml and checks what it promises about the tree. On
// failure the error is [Faults], and nothing of the Manifest may be used.
func Decode(text []byte, files Files) (Manifest, error) {
	root, faults, ok := format.Parse(text)
	if !ok {
		return Manifest{}, faults.Faults()
	}
	d := decoder{files: files, faults: faults}
	d.tables(root)
	if faults.Count() > 0 {
		return Manifest{}, faults.Faults()
	}
	if err := d.m.seal(); err != nil {
		// The bounds on every part make this unreachable for a file; saying so
		// beats a digest over nothing.
		faults.Add(1, "", "", "the manifest has no canonical form: "+err.Error(), "write smaller values")
		return Manifest{}, faults.Faults()
	}
	return d.m, nil
}

// decoder fills one Manifest, table by table. What it holds is meaningful only
// if faults stays empty.
type decoder struct {
	files  Files
	faults *tomlfile.Reading
	m      Manifest

	packages []string
	compiled map[string]compiled // by schema path
	doubt    bool                // requests is faulty: what is missing from it may be meant to be there
}

func (d *decoder) tables(root tomlfile.Table) {
	if d.files != nil {
		d.packages = d.files.Packages()
	}
	d.faults.Strays(root, durableTables...)
	for _, name := range durableTables {
		if n, ok := root[name]; ok {
			d.faults.Add(n.Line, name, "", "this table is not yet supported by this loomext",
				"remove it, or install with a loomext that has the durable plane")
		}
	}
	d.extension(root)
	if n, ok := root["config"]; ok {
		d.config(n)
	}
	for _, n := range d.faults.Each("tool", root) {
		d.tool(n)
	}
	for _, n := range d.faults.Each("hook", root) {
		d.hook(n)
	}
	if n, ok := root["mcp"]; ok {
		d.mcp(n)
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

func (d *decoder) extension(root tomlfile.Table) {
	d.doubt = true
	n, ok := root["extension"]
	if !ok {
		d.faults.Add(1, "extension", "", "this table is missing", "begin the file with [extension]")
		return
	}
	s, ok := d.open("extension", n)
	if !ok {
		return
	}
	d.doubt = s.Misspelt("requests")
	if n, ok := s.Need("name", `"my_extension"`); ok {
		d.m.name, _ = s.Word(n, "name", nameWord)
	}
	d.m.version = "0.0.0"
	if n, ok := s.Get("version"); ok {
		d.m.version = s.version(n)
	}
	if n, ok := s.Need("description", `"one line for the operator"`); ok {
		d.m.description, _ = s.Text(n, "description", maxDescription, "")
	}
	if n, ok := s.Get("license"); ok {
		d.m.license = s.license(n)
	}
	d.m.tier = "jailed"
	if n, ok := s.Get("tier"); ok {
		if tier, ok := s.Text(n, "tier", MaxName, ""); ok && tier != "jailed" {
			s.Fault(n, "tier", "there is no tier "+tomlfile.Quote(tier), `write "jailed", the only tier that installs`)
		}
	}
	if n, ok := s.Get("requests"); ok {
		d.requests(s, n)
	}
}

func (d *decoder) requests(s section, n tomlfile.Node) {
	before := d.faults.Count()
	defer func() { d.doubt = d.faults.Count() > before }()
	items, ok := s.Array(n, "requests", 2*len(capabilities)+len(durableCapabilities), "capability names")
	if !ok {
		return
	}
	for _, item := range items {
		c, ok := s.Text(item, "requests", MaxName, "")
		if !ok {
			continue
		}
		switch {
		case slices.Contains(durableCapabilities, c):
			s.Fault(item, "requests", tomlfile.Quote(c)+" needs the durable plane, which this loomext does not have", "remove it")
		case c == "fs":
			s.Fault(item, "requests", "there is no capability \"fs\"", "use fs_read, fs_write or both")
		case c == "report":
			s.Fault(item, "requests", "every extension may report; it is never requested", `remove "report"`)
		case !slices.Contains(capabilities, c):
			s.Fault(item, "requests", "there is no capability "+tomlfile.Quote(c), tomlfile.Choose(c, capabilities))
		case s.Distinct(item, "requests", c, d.m.requests):
			d.m.requests = append(d.m.requests, c)
		}
	}
	slices.Sort(d.m.requests)
}

// together checks what no table can know alone.
func (d *decoder) together(root tomlfile.Table) {
	line := 1
	ext, _ := root["extension"].Value.(tomlfile.Table)
	if n, ok := root["extension"]; ok {
		line = n.Line
	}
	if n, ok := ext["requests"]; ok {
		line = n.Line
	}
	for _, name := range []string{"net", "proc"} {
		n, there := root[name]
		asked := slices.Contains(d.m.requests, name)
		switch {
		case there && !asked && !d.doubt:
			d.faults.Add(n.Line, name, "", "the table is here, but requests does not ask for "+tomlfile.Quote(name),
				"add "+tomlfile.Quote(name)+" to requests, or remove the table")
		case asked && !there:
			d.faults.Add(line, "extension", "requests", tomlfile.Quote(name)+" is requested, but there is no ["+name+"] table",
				"add the table, or remove the request")
		}
	}
	_, tools := root["tool"]
	_, hooks := root["hook"]
	if ext != nil && !tools && !hooks {
		d.faults.Add(root["extension"].Line, "extension", "", "the extension has no tool and no hook, so nothing would ever call it",
			"add a [[tool]] or a [[hook]]")
	}
}
