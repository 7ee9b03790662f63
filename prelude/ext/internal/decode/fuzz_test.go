package decode_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/prelude/ext/internal/decode"
)

// everything has a field of each sort the walk knows.
type everything struct {
	Left
	*Right
	I    int            `json:"i"`
	I8   int8           `json:"i8"`
	U    uint           `json:"u"`
	U8   uint8          `json:"u8"`
	F    float64        `json:"f"`
	F32  float32        `json:"f32"`
	S    string         `json:"s"`
	Z    bool           `json:"z"`
	P    *everything    `json:"p"`
	PP   **int          `json:"pp"`
	L    []everything   `json:"l"`
	N    []int          `json:"n"`
	A    [2]string      `json:"a"`
	M    map[string]any `json:"m"`
	MS   map[string]everything
	Blob []byte          `json:"blob"`
	Raw  json.RawMessage `json:"raw"`
	Any  any             `json:"any"`
	Time time.Time       `json:"time"`
	Num  json.Number     `json:"num"`
	Lvl  level           `json:"lvl"`
	C    *celsius        `json:"c"`
}

var seeds = []string{
	`{}`, `null`, `[]`, `{"i":1,"i8":-128,"u":3,"u8":255,"f":1.5,"f32":2,"s":"x\u00e9\ud83d\ude00","z":true}`,
	`{"p":{"p":{"i":1}},"pp":3,"l":[{},{"n":[1,2,3]}],"a":["x","y"],"m":{"k":[1,"x",null,{"y":1.0}]},"MS":{"q":{"z":false}}}`,
	`{"blob":"aGk=","raw":{"a" : 1e3},"any":[1234567890123456789],"time":"2026-01-02T03:04:05Z","num":1e3,"lvl":"ab","c":"cold"}`,
	`{"i":"1","s":1,"z":null,"l":{},"a":["x"],"m":[],"blob":"!","time":1,"num":"1","lvl":"toolong","c":1}`,
	`{"i":1.0,"i8":1e2,"u":-1,"u8":256,"f":1e999,"f32":1e39}`, `{"X":1,"B":2,"C":3,"x":1}`, `{"i":1,"i":2}`, `{"I":1}`, `{"s":"\ud800"}`,
	`{"any":{"a":{"a":{}},"b":9007199254740993}}`, `{"p":null,"l":null,"m":null,"any":null,"raw":null}`, `{"n":[],"l":[],"m":{},"blob":""}`,
}

// stricter are the words with which the walk refuses what encoding/json lets
// pass: the differences its package comment lists.
var stricter = []string{
	"null", "given twice", "not Unicode text", "items, got", "nested deeper", "expected number, got string", "out of range", "made a map key",
}

func FuzzDecodeArgs(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		var list []any
		var table map[string]json.RawMessage
		_ = decode.Into(document, &list)
		_ = decode.Into(document, &table)

		var got, want everything
		ours := decode.Into(document, &got)
		theirs := json.Unmarshal(document, &want)
		if ours != nil && len(ours.Error()) > decode.MaxFaults*1200 {
			t.Fatalf("an error of %d bytes", len(ours.Error()))
		}
		if !json.Valid(document) {
			if ours == nil {
				t.Fatalf("took %q, which is not JSON", document)
			}
			return
		}
		if folds(document) {
			return // encoding/json fills fields that nobody named
		}
		switch {
		case ours == nil && theirs == nil:
			if !reflect.DeepEqual(plain(got), plain(want)) {
				t.Fatalf("%s\n got %+v\nwant %+v", document, got, want)
			}
		case ours == nil:
			// What is taken beyond encoding/json is integers in another spelling.
			if !strings.Contains(theirs.Error(), "cannot unmarshal number") {
				t.Fatalf("took %s, encoding/json says %v", document, theirs)
			}
		case theirs == nil:
			for _, fault := range ours.(*decode.Faults).Listed {
				if !containsAny(fault.Msg, stricter) {
					t.Fatalf("refused %s, which encoding/json takes: %v", document, fault)
				}
			}
		}
	})
}

func containsAny(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// folds reports whether a member's name is a field's name in other case.
func folds(document []byte) bool {
	names := map[string]bool{}
	for _, sf := range reflect.VisibleFields(reflect.TypeFor[everything]()) {
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if name == "" {
			name = sf.Name
		}
		names[name] = true
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	for {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		text, _ := token.(string)
		for name := range names {
			if text != name && strings.EqualFold(text, name) {
				return true
			}
		}
	}
}

// plain spells both ways of holding a number in an interface alike, and
// everything else as it prints, pointers followed.
func plain(value any) string {
	var text strings.Builder
	print := func(v reflect.Value) {}
	print = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				text.WriteString("nil ")
				return
			}
			if number, ok := v.Interface().(json.Number); ok {
				float, _ := number.Float64()
				fmt.Fprint(&text, float, " ")
				return
			}
			print(v.Elem())
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[time.Time]() {
				fmt.Fprint(&text, v.Interface(), " ")
				return
			}
			for i := range v.NumField() {
				text.WriteString(v.Type().Field(i).Name + ":")
				print(v.Field(i))
			}
		case reflect.Slice, reflect.Array:
			fmt.Fprint(&text, "[", v.Kind() == reflect.Slice && v.IsNil(), " ")
			for i := range v.Len() {
				print(v.Index(i))
			}
			text.WriteString("]")
		case reflect.Map:
			fmt.Fprint(&text, "{", v.IsNil(), v.Len(), " ")
			keys := v.MapKeys()
			for _, key := range sorted(keys) {
				fmt.Fprintf(&text, "%q:", key)
				print(v.MapIndex(key))
			}
			text.WriteString("}")
		default:
			fmt.Fprintf(&text, "%#v ", v.Interface())
		}
	}
	print(reflect.ValueOf(value))
	return text.String()
}

func sorted(keys []reflect.Value) []reflect.Value {
	for i := range keys {
		for j := i; j > 0 && keys[j].String() < keys[j-1].String(); j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
	return keys
}
