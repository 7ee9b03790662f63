package manifest

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/loomext/loomext/internal/tomlfile"
)

// FuzzDecode holds that decoding is total: a Manifest with a canonical form that
// is one, or Faults that stand in the file. It also holds that the two readers
// of the file agree: what outline has no mark for, the TOML package must refuse.
func FuzzDecode(f *testing.F) {
	archives, _ := filepath.Glob("testdata/faults/*.txtar")
	for _, file := range archives {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			if part.Name == FileName {
				f.Add(part.Data)
			}
		}
	}
	vectors, _ := filepath.Glob("testdata/vectors/*.json")
	for _, file := range vectors {
		f.Add([]byte(readVector(f, file).Manifest))
	}
	f.Add([]byte(boundTools + bindings))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Decode(text, base)
		if err == nil {
			again, err := Canonical(m.Canonical())
			if err != nil || !bytes.Equal(again, m.Canonical()) {
				t.Fatalf("the canonical form is not canonical: %v\n%s", err, m.Canonical())
			}
			return
		}
		var faults Faults
		if !errors.As(err, &faults) || len(faults) == 0 {
			t.Fatalf("not Faults: %v", err)
		}
		lines := 1 + bytes.Count(text, []byte("\n"))
		for _, fault := range faults {
			if fault.Line < 1 || fault.Line > lines {
				t.Errorf("line %d of %d: %v", fault.Line, lines, fault)
			}
			if fault.Msg == "" || fault.Fix == "" || strings.ContainsRune(fault.Error(), '\n') {
				t.Errorf("not one whole sentence: %q", fault.Error())
			}
			if strings.Contains(fault.Msg, "not the TOML that it seems") {
				t.Errorf("the two readers disagree: %v", fault)
			}
			if name, found := tomlfile.Hidden(fault.Error(), ""); found {
				t.Errorf("%s in %q", name, fault.Error())
			}
		}
	})
}

// FuzzSchema holds that compiling and checking are total and bounded.
func FuzzSchema(f *testing.F) {
	for _, test := range schemaTests {
		f.Add([]byte(test.schema), []byte(test.args))
	}
	for _, bomb := range bombs {
		f.Add([]byte(bomb.schema), []byte(bomb.args))
	}
	for _, refused := range refusedSchemas {
		f.Add([]byte(refused.schema), []byte(`{"a":1}`))
	}
	f.Fuzz(func(t *testing.T, raw, args []byte) {
		s, err := CompileSchema(raw)
		if err != nil {
			var faults SchemaFaults
			if !errors.As(err, &faults) || len(faults) == 0 {
				t.Fatalf("not SchemaFaults: %v", err)
			}
			if strings.Contains(err.Error(), "does not compile") {
				t.Errorf("a fault nobody foresaw: %v", err)
			}
			return
		}
		s.meter.most = maxWork / 20
		faults := s.Check(args)
		for _, fault := range faults {
			if fault.Msg == "" || fault.Pointer != "" && fault.Pointer[0] != '/' {
				t.Errorf("%q", fault)
			}
		}
	})
}

// FuzzCanonical holds that the canonical form is total and its own canonical form.
func FuzzCanonical(f *testing.F) {
	for _, text := range []string{`{"b":1,"a":[1.0,1e2,-0,"\u20ac"]}`, `9007199254740993`, `1e400`, `"\ud800"`, `{"a":1,"a":2}`, `[[[[`, `"` + "\x7f" + `"`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, err := Canonical(raw)
		if err != nil {
			return
		}
		again, err := Canonical(out)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("%q, then %q, %v", out, again, err)
		}
	})
}
