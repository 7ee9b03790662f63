package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/message"

	"github.com/loomext/loomext/internal/tomlfile"
)

// noText is the part of the validator's error interface that nobody here reads.
type noText struct{}

func (noText) KeywordPath() []string                   { return nil }
func (noText) LocalizedString(*message.Printer) string { return "" }

// explain turns the validator's error into sentences, one for each thing wrong.
// shape may be nil; with it a misspelt property is told its right name.
func explain(err error, s *shape) SchemaFaults {
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return SchemaFaults{{"", tomlfile.Printable(err.Error())}}
	}
	e := explainer{shape: s}
	e.walk(failed)
	if len(e.faults) == 0 {
		e.faults = SchemaFaults{{"", "the value does not fit the schema"}}
	}
	return e.faults
}

type explainer struct {
	shape  *shape
	faults SchemaFaults
}

func (e *explainer) add(at []string, msg string) {
	e.faults = append(e.faults, SchemaFault{pointer(at), msg})
}

func (e *explainer) walk(v *jsonschema.ValidationError) {
	at := v.InstanceLocation
	switch k := v.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			e.add(at, "the property "+tomlfile.Quote(name)+" is missing")
		}
	case *kind.DependentRequired:
		for _, name := range k.Missing {
			e.add(at, "the property "+tomlfile.Quote(name)+" is missing; it goes with "+tomlfile.Quote(k.Prop))
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			e.add(append(slices.Clone(at), name), "there is no such property"+e.meant(v.SchemaURL, name))
		}
	case *kind.AnyOf:
		e.add(at, "fits none of the allowed forms"+e.forms(v))
	case *kind.OneOf:
		if len(k.Subschemas) == 2 {
			e.add(at, "fits more than one of the forms that exclude each other")
			return
		}
		e.add(at, "fits none of the allowed forms"+e.forms(v))
	case nameFault:
		e.add(at, "the property name "+tomlfile.Quote(k.property)+" is not allowed: "+summary(explain(k.cause, nil)))
	case *kind.PropertyNames:
		e.add(at, "the property name "+tomlfile.Quote(k.Property)+" is not allowed"+e.forms(v))
	default:
		if msg := sentence(v.ErrorKind); msg != "" {
			e.add(at, msg)
			return
		}
		for _, cause := range v.Causes {
			e.walk(cause)
		}
	}
}

// meant names the property that a misspelt one was probably meant to be.
func (e *explainer) meant(schemaURL, name string) string {
	if e.shape == nil {
		return ""
	}
	_, fragment, _ := strings.Cut(schemaURL, "#")
	at, err := url.PathUnescape(fragment)
	if err != nil || e.shape.subs[at] == nil {
		return ""
	}
	properties, _ := e.shape.subs[at].object["properties"].(map[string]any)
	names := make([]string, 0, len(properties))
	for known := range properties {
		names = append(names, known)
	}
	slices.Sort(names)
	if near, ok := tomlfile.Nearest(name, names); ok {
		return "; did you mean " + tomlfile.Quote(near) + "?"
	}
	return ""
}

// maxForms is how many alternatives one message describes.
const maxForms = 4

// forms describes what each alternative would have wanted, as far as a reader
// follows.
func (e *explainer) forms(v *jsonschema.ValidationError) string {
	var parts []string
	for _, cause := range v.Causes {
		inner := explainer{shape: e.shape}
		inner.walk(cause)
		for i, f := range inner.faults {
			// Within the message the place is told from the value on.
			inner.faults[i].Pointer = strings.TrimPrefix(f.Pointer, pointer(v.InstanceLocation))
		}
		if part := summary(inner.faults); part != "" && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	if len(parts) > maxForms {
		parts = append(parts[:maxForms], "…")
	}
	return ": " + strings.Join(parts, "; or ")
}

// summary joins faults into one clause.
func summary(faults SchemaFaults) string {
	faults = faults.tidy(maxForms)
	parts := make([]string, len(faults))
	for i, f := range faults {
		parts[i] = f.Error()
	}
	return strings.Join(parts, ", ")
}

// sentence says what a single failure is. It is empty for a failure that only
// groups others.
func sentence(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "expected " + types(k.Want) + ", found " + article(k.Got)
	case *kind.Enum:
		return oneOf(k.Got, k.Want)
	case *kind.Const:
		return "expected " + render(k.Want) + ", found " + render(k.Got)
	case *kind.FalseSchema:
		return "nothing is allowed here"
	case *kind.Not:
		return "has a form that is not allowed"
	case *kind.MinProperties:
		return "has " + count(k.Got, "property") + ", needs at least " + strconv.Itoa(k.Want)
	case *kind.MaxProperties:
		return "has " + count(k.Got, "property") + ", may have at most " + strconv.Itoa(k.Want)
	case *kind.MinItems:
		return "has " + count(k.Got, "item") + ", needs at least " + strconv.Itoa(k.Want)
	case *kind.MaxItems:
		return "has " + count(k.Got, "item") + ", may have at most " + strconv.Itoa(k.Want)
	case *kind.UniqueItems:
		return fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Contains:
		return "no item has the required form"
	case *kind.MinContains:
		return fmt.Sprintf("has %s of the required form, needs at least %d", count(len(k.Got), "item"), k.Want)
	case *kind.MaxContains:
		return fmt.Sprintf("has %s of the limited form, may have at most %d", count(len(k.Got), "item"), k.Want)
	case *kind.MinLength:
		return "has " + count(k.Got, "character") + ", needs at least " + strconv.Itoa(k.Want)
	case *kind.MaxLength:
		return "has " + count(k.Got, "character") + ", may have at most " + strconv.Itoa(k.Want)
	case *kind.Pattern:
		return tomlfile.Quote(k.Got) + " does not match the pattern " + tomlfile.Quote(k.Want)
	case *kind.Minimum:
		return number(k.Got) + " is less than the minimum " + number(k.Want)
	case *kind.Maximum:
		return number(k.Got) + " is more than the maximum " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return number(k.Got) + " is not more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return number(k.Got) + " is not less than " + number(k.Want)
	case *kind.MultipleOf:
		return number(k.Got) + " is not a multiple of " + number(k.Want)
	case *kind.RefCycle:
		return "the schema leads back to itself here"
	}
	return ""
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		noun = stem + "ie"
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// types lists JSON types: "a string or an integer".
func types(want []string) string {
	parts := make([]string, len(want))
	for i, t := range want {
		parts[i] = article(t)
	}
	return strings.Join(parts, " or ")
}

func article(t string) string {
	switch t {
	case "null":
		return "null"
	case "object", "array", "integer":
		return "an " + t
	}
	return "a " + t
}

// oneOf names the values that are allowed, and the nearest of them.
func oneOf(got any, want []any) string {
	var words, shown []string
	for _, w := range want {
		if s, ok := w.(string); ok {
			words = append(words, s)
		}
		shown = append(shown, render(w))
	}
	const most = 12
	if len(shown) > most {
		shown = append(shown[:most], "…")
	}
	msg := "expected one of " + strings.Join(shown, ", ") + ", found " + render(got)
	if s, ok := got.(string); ok {
		if near, ok := tomlfile.Nearest(s, words); ok {
			msg += "; did you mean " + tomlfile.Quote(near) + "?"
		}
	}
	return msg
}

// render shows a JSON value on one line.
func render(v any) string {
	switch v := v.(type) {
	case string:
		return tomlfile.Quote(v)
	case json.Number:
		return tomlfile.Printable(string(v))
	case bool:
		return strconv.FormatBool(v)
	case nil:
		return "null"
	}
	raw, err := encodeJSON(v)
	if err != nil {
		return "a value"
	}
	return tomlfile.Printable(string(raw))
}

// maxDigits is how many digits of a number are shown: all of a 64-bit integer.
const maxDigits = 20

// number shows an exact fraction as a decimal. A long integer is shown by its power of ten, and
// cut where it has more digits than a reader compares.
func number(r *big.Rat) string {
	if !r.IsInt() {
		f, _ := r.Float64()
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	if whole := r.Num().String(); len(strings.TrimPrefix(whole, "-")) <= maxDigits {
		return whole
	}
	const bits = 128 // more than the digits need
	f := new(big.Float).SetPrec(bits).SetRat(r)
	shown := f.Text('e', maxDigits-1)
	mantissa, power, _ := strings.Cut(shown, "e")
	shown = strings.TrimSuffix(strings.TrimRight(mantissa, "0"), ".") + "e" + power
	if back, ok := new(big.Rat).SetString(shown); !ok || back.Cmp(r) != 0 {
		return "about " + shown
	}
	return shown
}
