package broker

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loomext/loomext/internal/wire"
)

// maxFaults is how many faults of one call's arguments are named: the rest are more of the same.
const maxFaults = 8

// arguments takes the map of a call apart. Its readers give the zero value for what is missing or of another type, and
// keep what was wrong for [arguments.refused], which names all of it. They coerce nothing. Bytes alias the frame.
type arguments struct {
	fields []wire.Field
	asked  []string
	faults []string
}

func read(args wire.Value) *arguments {
	fields, ok := args.AsMap()
	a := &arguments{fields: fields}
	if !ok {
		a.fault("the arguments are " + article(args.Type()) + "; want a map")
	}
	return a
}

func (a *arguments) fault(text string) { a.faults = append(a.faults, text) }

// field is the value of an argument that has to be there.
func (a *arguments) field(name string, want wire.Type) (wire.Value, bool) {
	a.asked = append(a.asked, name)
	at := slices.IndexFunc(a.fields, func(f wire.Field) bool { return f.Key == name })
	if at < 0 {
		a.fault(name + " is missing; want " + article(want))
		return wire.Value{}, false
	}
	v := a.fields[at].Value
	if v.Type() != want {
		a.fault(name + " is " + article(v.Type()) + "; want " + article(want))
		return wire.Value{}, false
	}
	return v, true
}

func (a *arguments) text(name string) string {
	v, ok := a.field(name, wire.TypeString)
	if !ok {
		return ""
	}
	s, _ := v.AsString()
	if !utf8.ValidString(s) {
		a.fault(name + " is no UTF-8")
		return ""
	}
	return s
}

func (a *arguments) bytes(name string) []byte {
	v, _ := a.field(name, wire.TypeBin)
	b, _ := v.AsBin()
	return b
}

func (a *arguments) integer(name string) int64 {
	v, _ := a.field(name, wire.TypeInt)
	n, _ := v.AsInt()
	return n
}

// texts is a map of str to str.
func (a *arguments) texts(name string) map[string]string {
	v, _ := a.field(name, wire.TypeMap)
	fields, _ := v.AsMap()
	texts := make(map[string]string, len(fields))
	for _, f := range fields {
		s, ok := f.Value.AsString()
		_, twice := texts[f.Key]
		place := name + "[" + quoted(f.Key) + "]"
		switch {
		case !ok:
			a.fault(place + " is " + article(f.Value.Type()) + "; want a str")
		case !utf8.ValidString(f.Key) || !utf8.ValidString(s):
			a.fault(place + " is no UTF-8")
		case twice:
			a.fault(place + " comes twice")
		default:
			texts[f.Key] = s
		}
		if len(a.faults) > maxFaults {
			break
		}
	}
	return texts
}

// maps reads the first items of a list of maps, each as arguments of its own, and is how many the list has. What is
// wrong with an item is named with its place.
func (a *arguments) maps(name string, most int, item func(*arguments)) int {
	v, _ := a.field(name, wire.TypeList)
	list, _ := v.AsList()
	for n, one := range list[:min(len(list), most)] {
		place := name + "[" + strconv.Itoa(n) + "]"
		fields, ok := one.AsMap()
		if !ok {
			a.fault(place + " is " + article(one.Type()) + "; want a map")
			continue
		}
		inner := &arguments{fields: fields}
		item(inner)
		inner.strays()
		for _, fault := range inner.faults {
			a.fault(place + "." + fault)
		}
	}
	return len(list)
}

// strays finds the arguments that nobody asked for, and those that come twice.
func (a *arguments) strays() {
	seen := make([]string, 0, len(a.asked))
	for _, f := range a.fields {
		switch {
		case len(a.faults) > maxFaults:
		case !slices.Contains(a.asked, f.Key):
			a.fault(quoted(f.Key) + " is no argument of it")
		case slices.Contains(seen, f.Key):
			a.fault(f.Key + " comes twice")
		default:
			seen = append(seen, f.Key)
		}
	}
}

// refused names everything that is wrong, arguments that nobody asked for included.
func (a *arguments) refused() *refusal {
	a.strays()
	if len(a.faults) == 0 {
		return nil
	}
	if len(a.faults) > maxFaults {
		a.faults = append(a.faults[:maxFaults], "and more")
	}
	return invalid(strings.Join(a.faults, "; "))
}

func invalid(msg string) *refusal { return &refusal{wire.CodeInvalidArgument, msg} }

func tooLarge(what string, has, most int) *refusal {
	return &refusal{wire.CodeTooLarge, what + " has " + strconv.Itoa(has) + " bytes; at most " + strconv.Itoa(most)}
}

// article is a type in a sentence.
func article(t wire.Type) string {
	switch t {
	case wire.TypeNil:
		return "nil"
	case wire.TypeInt:
		return "an int"
	}
	return "a " + t.String()
}
