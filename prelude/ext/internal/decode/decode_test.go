package decode_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/prelude/ext/internal/decode"
	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// into decodes a document into a new T and gives the value and the error's text.
func into[T any](document string) (T, string) {
	var value T
	if err := decode.Into([]byte(document), &value); err != nil {
		return value, err.Error()
	}
	return value, ""
}

// fits checks that a document decodes to want.
func fits[T any](t *testing.T, document string, want T) {
	t.Helper()
	if got, fault := into[T](document); fault != "" || !reflect.DeepEqual(got, want) {
		t.Errorf("%T from %s: %#v, %q; want %#v", want, document, got, fault, want)
	}
}

// faulty checks that a document does not fit, and the whole text that says why.
func faulty[T any](t *testing.T, document, want string) {
	t.Helper()
	var value T
	if _, got := into[T](document); got != want {
		t.Errorf("%T from %s:\n got %q\nwant %q", value, document, got, want)
	}
}

type place struct {
	City string `json:"city"`
	Lat  float64
}

type trip struct {
	Days  int               `json:"days"`
	Items []place           `json:"items"`
	Home  *place            `json:"home,omitempty"`
	Notes map[string]string `json:"notes"`
	Pair  [2]int8           `json:"pair"`
	Skip  string            `json:"-"`
	//lint:ignore SA5008 the name "-" is what is tested
	Dash  string `json:"-,"`
	small int
	Raw   json.RawMessage `json:"raw"`
	When  time.Time       `json:"when"`
	Any   any             `json:"any"`
}

func TestEveryFieldThatFailsIsNamed(t *testing.T) {
	faulty[trip](t, `{"days":"3","items":[{"city":"a"},{"city":1},{"Lat":"x","city":null}],"home":{"city":true},"notes":{"a":"b","c":{}},"pair":[1,300]}`,
		".days: expected integer, got string; .items[1].city: expected string, got number; .items[2].Lat: expected number, got string; "+
			".items[2].city: expected string, got null; .home.city: expected string, got boolean; .notes.c: expected string, got object; "+
			".pair[1]: expected integer from -128 to 127, got 300")
	faulty[trip](t, `[]`, "expected object, got array")
	faulty[trip](t, ` null `, "expected object, got null")
	faulty[int](t, `"x"`, "expected integer, got string")
	faulty[map[string]int](t, `{"a b":"x","":"x","a.b":"x","x-y":"x","größe":"x","\u202e":"x","9":"x"}`,
		`["a b"]: expected integer, got string; [""]: expected integer, got string; ["a.b"]: expected integer, got string; .x-y: expected integer, got string; `+
			`.größe: expected integer, got string; ["\u202e"]: expected integer, got string; ["9"]: expected integer, got string`)
}

func TestNamesMatchExactly(t *testing.T) {
	fits(t, `{"DAYS":1,"Days":2,"city":"x","home":{"City":"no","lat":1}}`, trip{Home: &place{}})
	fits(t, `{"\u0064ays":4}`, trip{Days: 4})
	fits(t, `{"-":"dash","Skip":"x","small":1,"\ud800":1}`, trip{Dash: "dash"})
	_ = trip{}.small
}

func TestWhatIsMissingIsZeroAndWhatIsUnknownIsIgnored(t *testing.T) {
	fits(t, `{}`, trip{})
	fits(t, `{"unknown":{"deep":[1,{"x":"}"}]},"days":1,"unknown":2}`, trip{Days: 1})
}

func TestIntegers(t *testing.T) {
	fits(t, `1.0`, 1)
	fits(t, `1e3`, 1000)
	fits(t, `-0`, uint8(0))
	fits(t, `2.55e2`, uint8(255))
	fits(t, `-128`, int8(-128))
	fits(t, `9223372036854775807`, int64(math.MaxInt64))
	fits(t, `-9223372036854775808`, int64(math.MinInt64))
	fits(t, `18446744073709551615`, uint64(math.MaxUint64))
	fits(t, `1234567890123456789`, int64(1234567890123456789))
	faulty[int](t, `1.5`, "expected integer, got 1.5")
	faulty[int8](t, `128`, "expected integer from -128 to 127, got 128")
	faulty[int64](t, `9223372036854775808`, "expected integer from -9223372036854775808 to 9223372036854775807, got 9223372036854775808")
	faulty[uint16](t, `-1`, "expected integer from 0 to 65535, got -1")
	faulty[uint64](t, `18446744073709551616`, "expected integer from 0 to 18446744073709551615, got 18446744073709551616")
	faulty[int](t, `1e400`, "expected integer from -9223372036854775808 to 9223372036854775807, got 1e400")
	faulty[int](t, `true`, "expected integer, got boolean")
	faulty[int](t, strings.Repeat("9", 1000)+".5", "expected integer, got "+strings.Repeat("9", 160)+"…")
}

func TestOtherScalars(t *testing.T) {
	fits(t, `1e-3`, 1e-3)
	fits(t, `3`, float32(3))
	fits(t, `true`, true)
	fits(t, `false`, false)
	fits(t, `"\ud83d\ude00 \u00e9"`, "😀 é")
	fits(t, `19.50`, json.Number("19.50"))
	faulty[float64](t, `1e400`, "expected number, got 1e400, which is out of range")
	faulty[float32](t, `1e39`, "expected number, got 1e39, which is out of range")
	faulty[float64](t, `"1"`, "expected number, got string")
	faulty[bool](t, `0`, "expected boolean, got number")
	faulty[string](t, `"\ud83d"`, "not Unicode text (half of a surrogate pair, or invalid UTF-8)")
	faulty[string](t, "\"\xff\"", "not Unicode text (half of a surrogate pair, or invalid UTF-8)")
	faulty[json.Number](t, `"1"`, "expected number, got string")
}

func TestNullFitsOnlyWhatCanBeNil(t *testing.T) {
	fits(t, `null`, (*int)(nil))
	fits(t, `null`, []int(nil))
	fits(t, `null`, map[string]int(nil))
	fits(t, `null`, any(nil))
	fits(t, `null`, json.RawMessage("null"))
	fits(t, `{"home":null,"items":null,"notes":null,"any":null,"when":null}`, trip{})
	for kind, fault := range map[string]string{
		"integer": second(into[int]("null")), "string": second(into[string]("null")), "number": second(into[float64]("null")),
		"boolean": second(into[bool]("null")), "object": second(into[place]("null")), "array": second(into[[2]int]("null")),
	} {
		if fault != "expected "+kind+", got null" {
			t.Errorf("null for %s: %q", kind, fault)
		}
	}
}

func second[T any](_ T, fault string) string { return fault }

func TestContainers(t *testing.T) {
	fits(t, `[]`, []int{})
	fits(t, `[1,2,3]`, []int{1, 2, 3})
	fits(t, `[ [1] , [ ] ]`, [][]int{{1}, {}})
	fits(t, `[{"city":"a","Lat":1},{}]`, []place{{"a", 1}, {}})
	fits(t, `[1,2]`, [2]int{1, 2})
	fits(t, `"aGk="`, []byte("hi"))
	fits(t, `[104,105]`, []byte("hi"))
	fits(t, `{}`, map[string]int{})
	fits(t, `{"a":1,"b":2}`, map[string]int{"a": 1, "b": 2})
	fits(t, `{"a":{"b":[1]}}`, map[string]map[string][]int{"a": {"b": {1}}})
	faulty[[2]int](t, `[1]`, "expected 2 items, got 1")
	faulty[[2]int](t, `[1,2,"x"]`, "expected 2 items, got 3")
	faulty[[]int](t, `{}`, "expected array, got object")
	faulty[map[string]int](t, `[1]`, "expected object, got array")
	faulty[[]byte](t, `"a"`, "expected a string in base64: illegal base64 data at input byte 0")
	faulty[[]byte](t, `[256]`, "[0]: expected integer from 0 to 255, got 256")
}

func TestAnyKeepsWhatADecoderGives(t *testing.T) {
	fits(t, `{"a":[1,1.5,"x",true,null,{}],"b":9007199254740992}`,
		any(map[string]any{"a": []any{1.0, 1.5, "x", true, nil, map[string]any{}}, "b": 9007199254740992.0}))
	fits(t, `[1234567890123456789,-9007199254740993,1234567890123456789.0,100000000000000000000]`,
		any([]any{json.Number("1234567890123456789"), json.Number("-9007199254740993"), 1234567890123456789.0, json.Number("100000000000000000000")}))
	faulty[any](t, `{"a":[1,{"b":1e400}]}`, ".a[1].b: expected number, got 1e400, which is out of range")
	faulty[any](t, `["\udc00"]`, "[0]: not Unicode text (half of a surrogate pair, or invalid UTF-8)")
	faulty[any](t, `{"\udc00":1}`, `["\"\\udc00\""]: the name: not Unicode text (half of a surrogate pair, or invalid UTF-8)`)
}

func TestAMemberGivenTwiceIsRefused(t *testing.T) {
	faulty[trip](t, `{"days":1,"days":1}`, ".days: given twice")
	faulty[trip](t, `{"days":1,"\u0064ays":"x","home":{"Lat":1,"Lat":2}}`, ".days: given twice; .home.Lat: given twice")
	faulty[map[string]int](t, `{"a":1,"\u0061":2}`, ".a: given twice")
	faulty[any](t, `{"a":{"b":1,"b":2}}`, ".a.b: given twice")
	fits(t, `{"raw":{"a":1,"a":2}}`, trip{Raw: json.RawMessage(`{"a":1,"a":2}`)})
}

func TestRawMessagesKeepTheirBytes(t *testing.T) {
	fits(t, ` [ 1e3 , 1.0,{ "a" : 1234567890123456789 } ] `, []json.RawMessage{[]byte("1e3"), []byte("1.0"), []byte(`{ "a" : 1234567890123456789 }`)})
	document := []byte(`{"raw":"x","days":7}`)
	var got trip
	if err := decode.Into(document, &got); err != nil {
		t.Fatal(err)
	}
	copy(document[7:], `"y"`)
	if string(got.Raw) != `"x"` {
		t.Error("a json.RawMessage shares the document's bytes, which the caller may reuse")
	}
}

type celsius float64

func (c *celsius) UnmarshalJSON(text []byte) error {
	if string(text) != `"cold"` {
		return fmt.Errorf("only \"cold\" is a temperature,\nnot %s", text)
	}
	*c = -10
	return nil
}

type level int

func (l *level) UnmarshalText(text []byte) error {
	if *l = level(len(text)); *l > 3 {
		return errors.New("too long")
	}
	return nil
}

func TestTypesThatDecodeThemselves(t *testing.T) {
	fits(t, `["cold","cold"]`, []celsius{-10, -10})
	fits(t, `{"when":"2026-01-02T03:04:05Z"}`, trip{When: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
	fits(t, `["ab",""]`, []level{2, 0})
	two := level(2)
	fits(t, `["ab",null]`, []*level{&two, nil})
	fits(t, `{"ab":"x"}`, map[level]string{2: "x"})
	faulty[map[string]celsius](t, `{"now":"cold","then":{"a":1}}`, `.then: only "cold" is a temperature, not {"a":1}`)
	faulty[[]level](t, `["abcd",1,null]`, "[0]: too long; [1]: expected string, got number; [2]: expected string, got null")
	faulty[map[level]string](t, `{"abcd":"x","ab":"x","cd":"y"}`, ".abcd: the name: too long; .cd: given twice")
}

type inner struct {
	A, Deep int
	Same    int `json:"same"`
}

type Left struct{ X, B int }
type Right struct{ X, C int }
type hidden struct{ H int }
type Visible struct{ V int }

type tag string

type outer struct {
	inner
	Left
	*Right
	*Visible
	tag   // an unexported type that is no struct promotes nothing
	Deep  string
	Named Left   `json:"named"`
	Tag   string `json:"same"`
	//lint:ignore SA5008 a name that encoding/json does not take is what is tested
	B bool `json:"bad\\name"`
}

func TestEmbeddedStructsPromoteTheirFields(t *testing.T) {
	fits(t, `{"A":1,"Deep":"outer","B":true,"C":3,"V":4,"X":9,"same":"tag","named":{"X":1},"Left":{"X":1},"tag":"x"}`,
		outer{tag: "", inner: inner{A: 1}, Right: &Right{C: 3}, Visible: &Visible{4}, Deep: "outer", Named: Left{X: 1}, Tag: "tag", B: true})
	type loop struct {
		N int
		*Left
		Next *loop
	}
	fits(t, `{"N":1,"Next":{"N":2,"X":3}}`, loop{N: 1, Next: &loop{N: 2, Left: &Left{X: 3}}})
	type tagged struct {
		hidden `json:"h"`
	}
	fits(t, `{"h":{"H":5},"H":6}`, tagged{hidden{5}})
}

type Ring struct {
	*Ring
	N int
}

func TestATypeThatEmbedsItselfIsDecoded(t *testing.T) {
	fits(t, `{"N":1,"Ring":{"N":2}}`, Ring{N: 1})
}

func TestAMemberGivenTwiceIsNoticedInAWideStruct(t *testing.T) {
	var fields []reflect.StructField
	var document strings.Builder
	for i := range 70 {
		name := fmt.Sprintf("F%d", i)
		fields = append(fields, reflect.StructField{Name: name, Type: reflect.TypeFor[int]()})
		fmt.Fprintf(&document, `,"%s":%d`, name, i)
	}
	wide := reflect.New(reflect.StructOf(fields))
	if err := decode.Into([]byte("{"+document.String()[1:]+"}"), wide.Interface()); err != nil || wide.Elem().Field(69).Int() != 69 {
		t.Errorf("%v, %v", err, wide.Elem())
	}
	for _, field := range fields {
		err := decode.Into([]byte(`{"`+field.Name+`":1`+document.String()+"}"), wide.Interface())
		if err == nil || err.Error() != "."+field.Name+": given twice" {
			t.Errorf("%s: %v", field.Name, err)
		}
	}
}

func TestGoTypesThatCannotBeDecodedSaySo(t *testing.T) {
	type optioned struct {
		N int `json:"n,string"`
	}
	faulty[[]optioned](t, `[{}]`, `[0]: the Go field N has the json option "string", which is not supported; take it out`)
	faulty[struct{ C chan int }](t, `{"C":1}`, ".C: the Go type chan int holds no JSON; give the field another type")
	fits(t, `{}`, struct{ C chan int }{})
	faulty[struct{ E error }](t, `{"E":"x"}`, ".E: the Go type error holds no JSON; give the field another type")
	faulty[map[int]string](t, `{"1":"x"}`, "the Go type map[int]string holds no JSON; give the field another type")
	faulty[struct{ *hidden }](t, `{"H":1}`, ".H: the Go field is, or is behind, an embedded pointer to an unexported type; embed the struct itself")
	faulty[struct {
		*hidden `json:"h"`
	}](t, `{"h":{"H":1}}`, ".h: the Go field is, or is behind, an embedded pointer to an unexported type; embed the struct itself")
	type pointer *pointer
	faulty[struct{ P pointer }](t, `{"P":1}`, ".P: nested deeper than 1000 levels")
}

func TestFaultsAreBounded(t *testing.T) {
	_, fault := into[[]int]("[" + strings.TrimSuffix(strings.Repeat(`"x",`, 10016), ",") + "]")
	if !strings.HasSuffix(fault, "; [15]: expected integer, got string; and 10000 more") {
		t.Errorf("%q", fault)
	}
	long := strings.Repeat("ü", 1<<20)
	_, fault = into[map[string]map[string]int](`{"` + long + `":{"` + long + `":"x"}}`)
	if len(fault) > 1000 || !strings.HasSuffix(fault, ": expected integer, got string") || !strings.Contains(fault, "…") {
		t.Errorf("%d bytes: %.400q", len(fault), fault)
	}
}

func TestDepthIsBounded(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	if _, fault := into[any](nested(decode.MaxDepth)); fault != "" {
		t.Errorf("at the bound: %s", fault)
	}
	for _, depth := range []int{decode.MaxDepth + 2, jsontext.MaxDepth} {
		if _, fault := into[any](nested(depth)); !strings.HasSuffix(fault, ": nested deeper than 1000 levels") || len(fault) > 1000 {
			t.Errorf("%d levels: %.300s", depth, fault)
		}
		if raw, fault := into[json.RawMessage](nested(depth)); fault != "" || string(raw) != nested(depth) {
			t.Errorf("%d levels into a json.RawMessage: %.300s", depth, fault)
		}
	}
	type list []list
	if _, fault := into[list](nested(decode.MaxDepth + 2)); !strings.HasSuffix(fault, ": nested deeper than 1000 levels") {
		t.Errorf("%.300s", fault)
	}
}

func TestTextThatIsNoDocument(t *testing.T) {
	for _, text := range []string{"", " ", "{", `{"days":1}x`, "nul", "{'days':1}", strings.Repeat("[", 1<<20)} {
		var value trip
		var syntax *jsontext.SyntaxError
		if err := decode.Into([]byte(text), &value); !errors.As(err, &syntax) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
