package record

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/loomext/loomext/internal/wire"
)

// slowly is a value as encoding/json alone reads it.
func slowly(text []byte, get fetch) (wire.Value, error) {
	d := &decoder{dec: json.NewDecoder(strings.NewReader(string(text))), get: get}
	d.dec.UseNumber()
	return d.value(1)
}

func TestScanReadsWhateverIsWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 10_000 {
		v, kept := anyValue(r, 0), shelf{}
		text, _ := encodeWith(kept.put, v)
		got, ok := scanValue(text, kept.get)
		if !ok || !equal(v, got) {
			t.Fatalf("ok %v of %s", ok, text)
		}
	}
	for _, text := range []string{
		`{"t":"session","session":"s","format":1,"at":"2026-01-02T03:04:05.678Z","loomext":"v1"}`,
		`{"t":"extension","session":"s","extension":{"name":"units","granted":["kv"]}}`,
		`{"t":"call","session":"s","call":1,"at":"2026-01-02T03:04:05Z","extension":"units","kind":"tool","name":"a\n\"b\"\u001b","start":1,"deadline_ms":20,"args":{"a":[1,-2.5e-7,null,true]},"bytes":9}`,
		`{"t":"effect","session":"s","call":1,"effect":2,"cap":"kv.get","began_ns":1,"took_ns":2,"args":{},"bytes":0,"ok":false,"code":"denied","msg":"\ud83d\ude00"}`,
		`{"t":"answer","session":"s","call":1,"took_ns":5,"ok":true,"value":{"$base64":"AA=="},"bytes":1}`,
	} {
		p, ok := scanLine([]byte(text))
		var want parsed
		if err := json.Unmarshal([]byte(text), &want); err != nil || !ok || !reflect.DeepEqual(p, want) {
			t.Errorf("%v, %v: %+v, want %+v", ok, err, p, want)
		}
	}
}

// FuzzScan holds what the scan reads against what encoding/json reads.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"t":"call","session":"s","call":1,"at":"2026-01-02T03:04:05Z","extension":"x","kind":"tool","name":"n","deadline_ms":20,"args":{"a":[1,-0,0.5e1]},"bytes":9}`,
		`{"t":"effect","call":01}`, `{"t":null}`, `{"T":"a"}`, `{"msg":"\ud800"}`, `{"msg":"\ud800\u0041"}`, `{"msg":"\u00e9\/"}`, `{"a":1}`, `{"call":1,"call":2}`,
		`"\ud83d\ude00"`, `{"$base64":"AA=="}`, `{"$blob":"aa","type":"bin"}`, `{"$float":"+Inf"}`, `{"$map":[["$a",1]]}`, `[1,]`, `[01]`, `-`, `1.`, `1e`, `1e999`, `{"a":1,"a":2}`, "\"\xff\"", "\"\x01\"", strings.Repeat("[", 99),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, ok := scanLine([]byte(text)); ok {
			var want parsed
			if err := json.Unmarshal([]byte(text), &want); err != nil || !reflect.DeepEqual(p, want) {
				t.Errorf("%q: %v: %+v, want %+v", text, err, p, want)
			}
		}
		kept := shelf{"aa": []byte("body")}
		if v, ok := scanValue([]byte(text), kept.get); ok {
			want, err := slowly([]byte(text), kept.get)
			if err != nil || !equal(v, want) {
				t.Errorf("%q: %v", text, err)
			}
			if !json.Valid([]byte(text)) {
				t.Errorf("%q is no JSON", text)
			}
		}
	})
}

func BenchmarkLineIsRead(b *testing.B) {
	text, _ := encodeWith(nil, wire.Map(wire.Field{Key: "key", Value: wire.String("value")}, wire.Field{Key: "value", Value: wire.Bin(make([]byte, 1<<10))}))
	effect := []byte(`{"t":"effect","session":"abcdefghijkl","call":1,"effect":1,"cap":"kv.set","began_ns":10000,"took_ns":2000,"args":` + string(text) + `,"bytes":1029,"ok":true,"value":{},"value_bytes":0}`)
	for name, read := range map[string]func(){
		"scan": func() {
			p, _ := scanLine(effect)
			_, _ = scanValue(p.Args, nil)
		},
		"json": func() {
			var p parsed
			_ = json.Unmarshal(effect, &p)
			_, _ = slowly(p.Args, nil)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				read()
			}
		})
	}
}
