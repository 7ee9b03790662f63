package vet

import (
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// seamPackages is the packages of the seam as the typed half sees them.
func seamPackages(t *testing.T) map[string]*types.Package {
	t.Helper()
	lib := library(t)
	compiled := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(lib.Dir, lib.Exports[path]))
	})
	all := map[string]*types.Package{}
	for path := range allowed {
		pkg, err := compiled.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = pkg
	}
	return all
}

// exportedFunctions is every function and method that an extension can name, by the name that the lists use.
func exportedFunctions(packages map[string]*types.Package) map[string]*types.Func {
	all := map[string]*types.Func{}
	add := func(fn *types.Func) {
		if fn.Exported() {
			all[nameOf(fn)] = fn
		}
	}
	for _, pkg := range packages {
		for _, name := range pkg.Scope().Names() {
			switch obj := pkg.Scope().Lookup(name).(type) {
			case *types.Func:
				add(obj)
			case *types.TypeName:
				named, ok := obj.Type().(*types.Named)
				if !ok || !obj.Exported() {
					continue
				}
				for fn := range named.Methods() {
					add(fn)
				}
				if i, ok := named.Underlying().(*types.Interface); ok {
					for fn := range i.Methods() {
						add(fn)
					}
				}
			}
		}
	}
	return all
}

func TestTheListsNameRealFunctions(t *testing.T) {
	functions := exportedFunctions(seamPackages(t))
	for name, m := range writers {
		fn := functions[name]
		switch {
		case fn == nil:
			t.Errorf("there is no %s", name)
		case m.receiver != (fn.Signature().Recv() != nil && m.at < 0) || m.at >= fn.Signature().Params().Len():
			t.Errorf("%s has no argument %d", name, m.at)
		case m.rest && !fn.Signature().Variadic():
			t.Errorf("%s takes no more arguments than it says", name)
		}
	}
	for _, list := range []map[string]bool{copiers, givers, makers, splitters, readers} {
		for name := range list {
			if functions[name] == nil {
				t.Errorf("there is no %s", name)
			}
		}
	}
}

// TestWhatTakesSomethingOfAnotherPackageIsKnown holds every function that can be handed what a variable refers to against
// the lists: it writes to it, or is among those that were looked at and do not.
func TestWhatTakesSomethingOfAnotherPackageIsKnown(t *testing.T) {
	packages := seamPackages(t)
	w := newFlow(&checker{packages: map[string]*types.Package{}})
	for _, pkg := range packages {
		for _, name := range pkg.Scope().Names() {
			if obj := pkg.Scope().Lookup(name); obj.Exported() && w.given(obj) && (reachable(obj.Type()).refs != nil) {
				w.kind(obj)
			}
		}
	}
	functions := exportedFunctions(packages)
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		fn := functions[name]
		sig := fn.Signature()
		m := w.writes(fn)
		if _, no := denied[name]; no || readers[name] || m.receiver {
			continue
		}
		for i := range sig.Params().Len() {
			p := sig.Params().At(i).Type()
			if sig.Variadic() && i == sig.Params().Len()-1 {
				p = p.(*types.Slice).Elem()
			}
			if (i == m.at || m.rest && i > m.at) || !w.takes(p) {
				continue
			}
			t.Errorf("%s may be handed what a variable refers to as argument %d, and no list says what becomes of it", name, i)
		}
	}
}

// takes reports whether a parameter can be given a reference to something of another package's.
func (w *flow) takes(p types.Type) bool {
	if _, ok := types.Unalias(p).(*types.TypeParam); ok {
		return true
	}
	for _, k := range w.kinds {
		for _, ref := range k.refs {
			if types.AssignableTo(ref, p) {
				return true
			}
		}
		switch underlying(p).(type) {
		case *types.Pointer, *types.Slice, *types.Map:
			if w.holds(k, p) {
				return true
			}
		}
	}
	return false
}

// TestWhatInterfacesHoldIsOutOfReach holds why an interface that another package has a variable of is nobody's way to
// anything: what is in it has no name outside, or refers to nothing.
func TestWhatInterfacesHoldIsOutOfReach(t *testing.T) {
	packages := seamPackages(t)
	var imports, values strings.Builder
	for _, path := range slices.Sorted(maps.Keys(packages)) {
		n := 0
		for _, name := range packages[path].Scope().Names() {
			v, ok := packages[path].Scope().Lookup(name).(*types.Var)
			switch {
			case !ok || !v.Exported():
			case strings.HasPrefix(path, project):
				if types.IsInterface(v.Type()) || reachable(v.Type()).refs != nil {
					t.Errorf("%s.%s of the prelude is or holds an interface or a reference", path, name)
				}
			default:
				fmt.Fprintf(&values, "\tlook(%q, reflect.ValueOf(&p%d.%s).Elem(), 0)\n", path+"."+name, imports.Len(), name)
				n++
			}
		}
		if n > 0 {
			fmt.Fprintf(&imports, "\tp%d %q\n", imports.Len(), path)
		}
	}
	dir := t.TempDir()
	program := strings.NewReplacer("IMPORTS", imports.String(), "VALUES", values.String()).Replace(lookProgram)
	if err := errors.Join(os.WriteFile(dir+"/main.go", []byte(program), 0o644), os.WriteFile(dir+"/go.mod", []byte("module look\n\ngo 1.26\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOENV=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "looked\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

const lookProgram = `package main

import (
	"fmt"
	"go/token"
	"reflect"
IMPORTS)

func look(name string, v reflect.Value, depth int) {
	if depth > 8 {
		return
	}
	depth++
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		in := v.Elem()
		t := in.Type()
		for t.Kind() == reflect.Pointer && t.Name() == "" {
			t = t.Elem()
		}
		if refers(in.Type()) && (t.Name() == "" || token.IsExported(t.Name())) {
			fmt.Println(name, "holds", in.Type())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			look(name, v.Elem(), depth)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				look(name, v.Field(i), depth)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			look(name, v.Index(i), depth)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			look(name, v.MapIndex(k), depth)
		}
	}
}

func refers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func, reflect.Interface:
		return true
	case reflect.Array:
		return refers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if refers(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

func main() {
VALUES	fmt.Println("looked")
}
`

// readers can be handed what another package's variable refers to, and only read it, or keep it, or give it back.
var readers = set(`bytes.ToLowerSpecial bytes.ToTitleSpecial bytes.ToUpperSpecial cmp.Compare cmp.Less cmp.Or container/heap.Push
	container/list.List.InsertAfter container/list.List.InsertBefore container/list.List.PushBack
	container/list.List.PushFront context.Context.Value context.WithValue encoding/base32.NewDecoder
	encoding/base32.NewEncoder encoding/base64.NewDecoder encoding/base64.NewEncoder encoding/binary.Append
	encoding/binary.Encode encoding/binary.Size encoding/binary.Write encoding/csv.Writer.Write encoding/json.Encoder.Encode
	encoding/json.Marshal encoding/json.MarshalIndent encoding/xml.CopyToken encoding/xml.Encoder.Encode
	encoding/xml.Encoder.EncodeElement encoding/xml.Encoder.EncodeToken encoding/xml.Marshal encoding/xml.MarshalIndent
	fmt.Append fmt.Appendf fmt.Appendln fmt.Errorf fmt.Fprint fmt.Fprintf fmt.Fprintln fmt.Sprint fmt.Sprintf fmt.Sprintln
	github.com/loomext/loomext/prelude/cap/report.Strings github.com/loomext/loomext/prelude/ext.Ctx.Value
	github.com/loomext/loomext/prelude/ext.JSON github.com/loomext/loomext/prelude/ext.Refuse
	github.com/loomext/loomext/prelude/ext/hook.Rendered hash/crc32.Checksum hash/crc32.New hash/crc32.Update
	image.Alpha.Set image.Alpha16.Set image.CMYK.Set image.Gray.Set image.Gray16.Set image.NRGBA.Set image.NRGBA64.Set
	image.NewPaletted image.NewUniform image.Paletted.Set image.RGBA.Set image.RGBA64.Set image.Uniform.Convert
	image/color.Model.Convert image/color.Palette.Convert image/color.Palette.Index image/draw.Draw image/draw.DrawMask
	image/draw.Drawer.Draw image/draw.Image.Set image/draw.Op.Draw image/draw.Quantizer.Quantize image/draw.RGBA64Image.Set image/gif.Encode
	image/jpeg.Encode image/png.Encode image/png.Encoder.Encode maps.All maps.Clone maps.Copy maps.Equal maps.EqualFunc
	maps.Keys maps.Values math/rand/v2.N slices.All slices.Backward slices.BinarySearch slices.BinarySearchFunc slices.Chunk
	slices.Clip slices.Clone slices.Compare slices.CompareFunc slices.Concat slices.Contains slices.ContainsFunc
	slices.Equal slices.EqualFunc slices.Grow slices.Index slices.IndexFunc slices.Insert slices.IsSorted
	slices.IsSortedFunc slices.Max slices.MaxFunc slices.Min slices.MinFunc slices.Repeat slices.Replace slices.Values
	sort.SearchStrings sort.SliceIsSorted sort.StringsAreSorted strings.Join strings.ToLowerSpecial strings.ToTitleSpecial
	strings.ToUpperSpecial sync.Map.CompareAndDelete sync.Map.CompareAndSwap sync.Map.Delete sync.Map.Load
	sync.Map.LoadAndDelete sync.Map.LoadOrStore sync.Map.Store sync.Map.Swap sync.Pool.Put sync/atomic.LoadInt32
	sync/atomic.LoadUint32 sync/atomic.Pointer.CompareAndSwap sync/atomic.Pointer.Store sync/atomic.Pointer.Swap
	sync/atomic.Value.CompareAndSwap sync/atomic.Value.Store sync/atomic.Value.Swap time.Date time.ParseInLocation
	time.Time.In unicode.In unicode.Is unicode.IsOneOf unicode/utf16.Encode unique.Make`)
