package record

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loomext/loomext/internal/wire"
)

// equal compares two values, NaN with NaN as well.
func equal(a, b wire.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	switch a.Type() {
	case wire.TypeFloat:
		x, _ := a.AsFloat()
		y, _ := b.AsFloat()
		return math.Float64bits(x) == math.Float64bits(y) || math.IsNaN(x) && math.IsNaN(y)
	case wire.TypeString:
		x, _ := a.AsText()
		y, _ := b.AsText()
		return bytes.Equal(x, y)
	case wire.TypeBin:
		x, _ := a.AsBin()
		y, _ := b.AsBin()
		return bytes.Equal(x, y)
	case wire.TypeList:
		x, _ := a.AsList()
		y, _ := b.AsList()
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case wire.TypeMap:
		x, _ := a.AsMap()
		y, _ := b.AsMap()
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if x[i].Key != y[i].Key || !equal(x[i].Value, y[i].Value) {
				return false
			}
		}
		return true
	}
	x, _ := a.AsInt()
	y, _ := b.AsInt()
	p, _ := a.AsBool()
	q, _ := b.AsBool()
	return x == y && p == q
}

// shelf keeps bodies in memory.
type shelf map[string][]byte

func (s shelf) put(body []byte) (string, error) {
	name := string(rune('a' + len(s)))
	s[name] = bytes.Clone(body)
	return name, nil
}

func (s shelf) get(name string) ([]byte, error) { return s[name], nil }

func encodeWith(keep spill, v wire.Value) ([]byte, int64) {
	e := encoder{keep: keep}
	e.value(v)
	return e.dst, e.bytes
}

// anyValue is a value of every type, with what is hard to write in JSON more often than chance has it.
func anyValue(r *rand.Rand, depth int) wire.Value {
	kinds := 8
	if depth > 4 {
		kinds = 6
	}
	switch r.IntN(kinds) {
	case 0:
		return wire.Nil()
	case 1:
		return wire.Bool(r.IntN(2) == 0)
	case 2:
		return wire.Int([]int64{0, -1, math.MaxInt64, math.MinInt64, r.Int64()}[r.IntN(5)])
	case 3:
		return wire.Float([]float64{0, math.Copysign(0, -1), 1, 1e300, 5e-324, math.NaN(), math.Inf(1), math.Inf(-1), r.NormFloat64()}[r.IntN(9)])
	case 4:
		return wire.String(anyText(r))
	case 5:
		b := make([]byte, r.IntN(40))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if r.IntN(8) == 0 {
			b = bytes.Repeat(b, InlineMax)
		}
		return wire.Bin(b)
	case 6:
		list := make([]wire.Value, r.IntN(5))
		for i := range list {
			list[i] = anyValue(r, depth+1)
		}
		return wire.List(list...)
	}
	fields := []wire.Field{}
	for i := range r.IntN(5) {
		fields = append(fields, wire.Field{Key: anyText(r) + strings.Repeat("k", i), Value: anyValue(r, depth+1)})
	}
	return wire.Map(fields...)
}

func anyText(r *rand.Rand) string {
	pieces := []string{"", "a", "$", "$blob", "\x00", "\n", `"`, `\`, "\u007f", "\u0085", "\u2028", "\u202e", "\ufeff", "\U000e0001", "é", "日本", "\U0001f600", "</script>", strings.Repeat("x", InlineMax)}
	text := ""
	for range r.IntN(4) {
		text += pieces[r.IntN(len(pieces))]
	}
	return text
}

func TestEveryValueIsReadAsItWasWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		v, kept := anyValue(r, 0), shelf{}
		text, _ := encodeWith(kept.put, v)
		if !json.Valid(text) {
			t.Fatalf("no JSON: %s", text)
		}
		got, err := decode(text, kept.get)
		if err != nil || !equal(v, got) {
			t.Fatalf("%v of %s", err, text)
		}
	}
}

func TestValueHasNothingThatATerminalObeys(t *testing.T) {
	text, _ := encodeWith(shelf{}.put, wire.String("a\x1b[2J\u009b31m\u202eb\u2028\x7f"))
	want := `"a\u001b[2J\u009b31m\u202eb\u2028\u007f"`
	if string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func TestBytesOfAValueAreThoseOfItsTexts(t *testing.T) {
	kept := shelf{}
	v := wire.Map(wire.Field{Key: "a", Value: wire.String("four")}, wire.Field{Key: "b", Value: wire.List(wire.Bin(make([]byte, InlineMax+1)), wire.Int(1))})
	if _, n := encodeWith(kept.put, v); n != 4+InlineMax+1 {
		t.Errorf("got %d", n)
	}
	if len(kept) != 1 {
		t.Errorf("%d bodies were kept, want the long one", len(kept))
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"$map":[["a",1]]}`, `{"$map":[1]}`, `{"$base64":"!"}`, `{"$blob":"aa"}`, `{"$float":"NaN"}`, `1e999`, `9223372036854775808`, `[[[[`, strings.Repeat("[", 40)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kept := shelf{"aa": []byte("body")}
		v, err := decode([]byte(text), kept.get)
		if err != nil {
			return
		}
		again, _ := encodeWith(kept.put, v)
		back, err := decode(again, kept.get)
		if err != nil || !equal(v, back) {
			t.Errorf("%q: %v of %s", text, err, again)
		}
	})
}

// Texts are looked at in groups of bytes; each byte is told apart wherever in a group it stands.
func TestEachByteIsWrittenAsItIsAlone(t *testing.T) {
	for c := range 256 {
		want := appendText(nil, string([]byte{byte(c)}))
		want = want[1 : len(want)-1]
		for at := range 20 {
			text := strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat("~", 19-at)
			got := appendText(nil, text)
			if want := `"` + text[:at] + string(want) + text[at+1:] + `"`; string(got) != want {
				t.Fatalf("byte %#x at %d: %s, want %s", c, at, got, want)
			}
		}
	}
}
