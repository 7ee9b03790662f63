package vet

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
)

// typeWriter writes types out up to a limit. A type is a graph that shares its parts, so that written out it may be
// longer than any memory; the package go/types writes all of it.
type typeWriter struct {
	strings.Builder
	limit int
	cut   bool
	// env gives type parameters their arguments' text, and exact writes which declaration is meant, so that texts are
	// equal where types are.
	env   map[*types.TypeParam]string
	exact bool
}

func (w *typeWriter) put(text string) {
	if w.cut {
		return
	}
	if w.Len()+len(text) > w.limit {
		w.cut = true
		w.WriteString("…")
		return
	}
	w.WriteString(text)
}

func (w *typeWriter) write(t types.Type) {
	if w.cut {
		return
	}
	switch t := t.(type) {
	case *types.Basic:
		w.put(t.String())
	case *types.Alias:
		w.write(types.Unalias(t)) // what it stands for says more
	case *types.Named:
		w.name(t.Obj())
		w.list("[", t.TypeArgs(), "]")
	case *types.TypeParam:
		if text, ok := w.env[t]; ok {
			w.put(text)
		} else {
			w.put(t.Obj().Name())
		}
	case *types.Pointer:
		w.put("*")
		w.write(t.Elem())
	case *types.Slice:
		w.put("[]")
		w.write(t.Elem())
	case *types.Array:
		w.put("[" + strconv.FormatInt(t.Len(), 10) + "]")
		w.write(t.Elem())
	case *types.Map:
		w.put("map[")
		w.write(t.Key())
		w.put("]")
		w.write(t.Elem())
	case *types.Chan:
		w.put([]string{"chan ", "chan<- ", "<-chan "}[t.Dir()] + "(")
		w.write(t.Elem())
		w.put(")")
	case *types.Signature:
		w.put("func")
		w.signature(t)
	case *types.Tuple:
		w.tuple(t, false)
	case *types.Struct:
		w.put("struct{")
		for i := range t.NumFields() {
			if w.cut {
				return
			}
			if i > 0 {
				w.put("; ")
			}
			w.put(t.Field(i).Name() + " ")
			w.write(t.Field(i).Type())
			if tag := t.Tag(i); tag != "" && w.exact {
				w.put(strconv.Quote(tag))
			}
		}
		w.put("}")
	case *types.Interface:
		w.iface(t)
	case *types.Union:
		for i := range t.Len() {
			if i > 0 {
				w.put("|")
			}
			if t.Term(i).Tilde() {
				w.put("~")
			}
			w.write(t.Term(i).Type())
		}
	default:
		w.put("?")
	}
}

func (w *typeWriter) iface(t *types.Interface) {
	if t.Empty() {
		w.put("any")
		return
	}
	w.put("interface{")
	for i := range t.NumExplicitMethods() {
		if i > 0 {
			w.put("; ")
		}
		w.put(t.ExplicitMethod(i).Name())
		w.signature(t.ExplicitMethod(i).Signature())
	}
	for i := range t.NumEmbeddeds() {
		w.put("; ")
		w.write(t.EmbeddedType(i))
	}
	w.put("}")
}

func (w *typeWriter) name(obj *types.TypeName) {
	if pkg := obj.Pkg(); pkg != nil {
		if w.exact {
			w.put(fmt.Sprintf("%p", obj)) // two functions may each declare one of this name
			return
		}
		w.put(pkg.Name() + ".")
	}
	w.put(obj.Name())
}

func (w *typeWriter) list(open string, args *types.TypeList, end string) {
	if args.Len() == 0 {
		return
	}
	w.put(open)
	for i := range args.Len() {
		if i > 0 {
			w.put(", ")
		}
		w.write(args.At(i))
	}
	w.put(end)
}

func (w *typeWriter) signature(t *types.Signature) {
	w.tuple(t.Params(), t.Variadic())
	switch results := t.Results(); results.Len() {
	case 0:
	case 1:
		w.put(" ")
		w.write(results.At(0).Type())
	default:
		w.put(" ")
		w.tuple(results, false)
	}
}

func (w *typeWriter) tuple(t *types.Tuple, variadic bool) {
	w.put("(")
	for i := range t.Len() {
		if i > 0 {
			w.put(", ")
		}
		if slice, ok := t.At(i).Type().(*types.Slice); ok && variadic && i == t.Len()-1 {
			w.put("...")
			w.write(slice.Elem())
			continue
		}
		w.write(t.At(i).Type())
	}
	w.put(")")
}
