package manifest

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/loomext/loomext/internal/tomlfile"
)

// A schema of a few hundred bytes can ask for 2^64 comparisons: two subschemas
// that each apply the other twice, one level further down. The validator has no
// bound and no context, so every subschema is made to pay before it does work.
//
// What the validator does offer is a function for a format, called early in each
// subschema, after type, const and enum. The dialect treats format as a note, so
// no schema loses a check when each is given a format of our own that pays. What
// comes before that call, and boolean schemas, are paid for by the parent.

// errSpent ends a check that costs too much.
var errSpent = errors.New("the arguments cannot be checked against the schema with bounded work; send less at once")

// meter is what is left of one check's work, of what each check may cost.
type meter struct{ left, most int64 }

func (m *meter) spend(units int64) {
	if m.left -= units; m.left < 0 {
		panic(errSpent)
	}
}

// toll is what evaluating one subschema costs.
type toll struct {
	fixed  int64 // each time
	each   int64 // for each item or property
	unique bool  // items are compared with each other
}

// prices computes each subschema's toll.
func (s *shape) prices() map[string]toll {
	prices := make(map[string]toll, len(s.subs))
	for at, sub := range s.subs {
		t := toll{fixed: 1, each: 1}
		for _, next := range sub.same {
			t.fixed += next.literal()
		}
		for _, next := range sub.every {
			t.each += next.literal()
		}
		named := int64(0)
		for _, next := range sub.named {
			named = max(named, next.literal())
		}
		t.each += named
		required, _ := sub.object["required"].([]any)
		t.fixed += int64(len(required)) / 8
		t.unique, _ = sub.object["uniqueItems"].(bool)
		prices[at] = t
	}
	return prices
}

// literal is the cost of what is compared before the subschema pays by itself.
func (s *sub) literal() int64 {
	return 1 + weigh(s.object["enum"])/4 + weigh(s.object["const"])/4
}

// weigh counts the values in a value.
func weigh(v any) int64 {
	n := int64(1)
	switch v := v.(type) {
	case nil:
		return 0
	case []any:
		for _, item := range v {
			n += weigh(item)
		}
	case map[string]any:
		for _, item := range v {
			n += weigh(item)
		}
	}
	return n
}

func (t toll) pay(m *meter, v any) {
	switch v := v.(type) {
	case map[string]any:
		m.spend(t.fixed + t.each*int64(len(v)))
	case []any:
		n := int64(len(v))
		m.spend(t.fixed + t.each*n)
		if t.unique {
			// Few items are compared pair by pair; many are hashed, but their
			// hashes can be made to collide.
			m.spend(n*n/16 + weigh(v)*min(n, 20))
		}
	case string:
		m.spend(t.fixed + int64(len(v))/64)
	default:
		m.spend(t.fixed)
	}
}

const (
	schemaURL    = "https://schema.invalid/"
	namesKeyword = "loomext:propertyNames"
)

// compileMetered compiles a schema in which every subschema pays.
func compileMetered(root map[string]any, s *shape, m *meter) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nothing{})
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		p, err := compilePattern(text)
		if err != nil {
			return nil, err
		}
		p.meter = m
		return p, nil
	})
	c.AssertFormat()
	c.RegisterVocabulary(names())
	c.AssertVocabs()

	formats := map[toll]string{}
	for at, price := range s.prices() {
		name, known := formats[price]
		if !known {
			name = "loomext-toll-" + strconv.Itoa(len(formats))
			formats[price] = name
			c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
				price.pay(m, v)
				return nil
			}})
		}
		s.subs[at].object["format"] = name
	}
	for _, sub := range s.subs {
		if v, there := sub.object["propertyNames"]; there {
			delete(sub.object, "propertyNames")
			sub.object[namesKeyword] = v
		}
	}
	if err := c.AddResource(schemaURL, root); err != nil {
		return nil, err
	}
	return c.Compile(schemaURL)
}

// names is propertyNames once more. The validator's own reports the place by a
// slice that it has reused by then.
func names() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{
		URL:        "https://schema.invalid/names",
		Subschemas: []jsonschema.SchemaPath{{jsonschema.Prop(namesKeyword)}},
		Compile: func(ctx *jsonschema.CompilerContext, object map[string]any) (jsonschema.SchemaExt, error) {
			if _, there := object[namesKeyword]; !there {
				return nil, nil
			}
			return propertyNames{ctx.Enqueue([]string{namesKeyword})}, nil
		},
	}
}

type propertyNames struct{ schema *jsonschema.Schema }

// nameFault is a property whose name does not fit.
type nameFault struct {
	noText
	property string
	cause    error
}

func (p propertyNames) Validate(ctx *jsonschema.ValidatorContext, v any) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if err := p.schema.Validate(name); err != nil {
			ctx.AddError(nameFault{property: name, cause: err})
		}
	}
}

// pattern is a regular expression that pays by the length of its text.
type pattern struct {
	re    *regexp.Regexp
	size  int64
	meter *meter
}

func (p *pattern) String() string { return p.re.String() }

func (p *pattern) MatchString(s string) bool {
	p.meter.spend(1 + int64(len(s))*p.size/64)
	return p.re.MatchString(s)
}

// compilePattern compiles a regular expression of bounded size.
func compilePattern(text string) (*pattern, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("%s is not a regular expression that can be run here (RE2, without look-around and back-references): %s",
			tomlfile.Quote(text), tomlfile.Printable(err.Error()))
	}
	size := instructions(parsed)
	if size > maxPattern {
		return nil, fmt.Errorf("%s is too large a regular expression", tomlfile.Quote(text))
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%s is not a regular expression: %s", tomlfile.Quote(text), tomlfile.Printable(err.Error()))
	}
	return &pattern{re: re, size: size}, nil
}

// instructions estimates the size of a compiled expression, before repetitions
// are unrolled. The parser has bounded its depth.
func instructions(re *syntax.Regexp) int64 {
	n := int64(1)
	if re.Op == syntax.OpLiteral {
		n += int64(len(re.Rune))
	}
	if re.Op == syntax.OpCharClass {
		n += int64(len(re.Rune)) / 32
	}
	for _, part := range re.Sub {
		n = min(n+instructions(part), 1<<30)
	}
	if re.Op == syntax.OpRepeat {
		n *= int64(max(re.Min, re.Max, 1))
	}
	return min(n, 1<<30)
}
