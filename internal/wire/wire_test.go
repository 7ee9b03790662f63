package wire

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"pgregory.net/rapid"
)

func TestAValueIsReadAsItsOwnTypeAndNoOther(t *testing.T) {
	values := map[Type]Value{
		TypeNil: Nil(), TypeBool: Bool(true), TypeInt: Int(1), TypeFloat: Float(1), TypeString: String("1"), TypeBin: Bin([]byte("1")),
		TypeList: List(Int(1)), TypeMap: Map(Field{"1", Int(1)}),
	}
	for typ, v := range values {
		if v.Type() != typ {
			t.Errorf("%v is of type %v", typ, v.Type())
		}
		_, isBool := v.AsBool()
		_, isInt := v.AsInt()
		_, isFloat := v.AsFloat()
		_, isString := v.AsString()
		_, isText := v.AsText()
		_, isBin := v.AsBin()
		_, isList := v.AsList()
		_, isMap := v.AsMap()
		_, has := v.Get("1")
		got := []bool{isBool, isInt, isFloat, isString, isText, isBin, isList, isMap, has}
		want := []bool{typ == TypeBool, typ == TypeInt, typ == TypeFloat, typ == TypeString, typ == TypeString, typ == TypeBin,
			typ == TypeList, typ == TypeMap, typ == TypeMap}
		if !slices.Equal(got, want) {
			t.Errorf("%v reads as %v; want %v", typ, got, want)
		}
	}
	if (Value{}).Type() != TypeNil {
		t.Error("the zero value is not nil")
	}
	if _, ok := Map(Field{"a", Nil()}).Get("b"); ok {
		t.Error("a key that is not there was found")
	}
	if got := Type(200).String(); got != "unknown" {
		t.Errorf("Type(200) is %q", got)
	}
}

func TestLeftNeverOverflows(t *testing.T) {
	for ms, want := range map[int64]time.Duration{
		math.MinInt64: 0, -1: 0, 0: 0, 1: time.Millisecond, 20000: 20 * time.Second,
		math.MaxInt64 / 1_000_000: math.MaxInt64 / 1_000_000 * time.Millisecond, math.MaxInt64/1_000_000 + 1: math.MaxInt64, math.MaxInt64: math.MaxInt64,
	} {
		if got := Left(ms); got != want {
			t.Errorf("Left(%d) = %v; want %v", ms, got, want)
		}
	}
}

func nested(depth int, v Value) Value {
	for range depth {
		v = List(v)
	}
	return v
}

func TestWhatAPeerWouldRefuseIsNotWritten(t *testing.T) {
	result := func(v Value) func([]byte) ([]byte, error) {
		return func(dst []byte) ([]byte, error) {
			return AppendResult(dst, KindHookResult, 1, Result{OK: true, Value: v})
		}
	}
	wide := make([]Field, fewKeys+1)
	for i := range wide {
		wide[i].Key = strings.Repeat("k", i+1)
	}
	wide[fewKeys].Key = "k"
	const around = 6 // the entries of the payload map and of the body
	for _, c := range []struct {
		name  string
		write func([]byte) ([]byte, error)
		want  error
	}{
		{"as deep as may be", result(nested(MaxDepth-bodyDepth-1, List())), nil},
		{"one deeper", result(nested(MaxDepth-bodyDepth, List())), ErrTooDeep},
		{"a thousand deeper", result(nested(1000, Nil())), ErrTooDeep},
		{"a map one deeper", result(nested(MaxDepth-bodyDepth, Map())), ErrTooDeep},
		{"as many as may be", result(List(make([]Value, MaxValues-around)...)), nil},
		{"one more", result(List(make([]Value, MaxValues-around+1)...)), ErrTooMany},
		{"too many, in a map", result(Map(make([]Field, MaxValues)...)), ErrTooMany},
		{"as long as may be", result(Bin(make([]byte, MaxFrame-46))), nil},
		{"one longer", result(Bin(make([]byte, MaxFrame-45))), ErrTooLarge},
		{"a bin longer than a frame", result(Bin(make([]byte, MaxFrame+1))), ErrTooLarge},
		{"a text longer than a frame", result(Text(make([]byte, MaxFrame+1))), ErrTooLarge},
		{"a text that outgrows a frame by its replacements", result(Text(bytes.Repeat([]byte{0xff}, MaxFrame/3+1))), ErrTooLarge},
		{"a broken text longer than a frame", result(Text(bytes.Repeat([]byte{0xff}, MaxFrame+1))), ErrTooLarge},
		{"long in parts", result(List(Bin(make([]byte, MaxFrame/2)), Text(make([]byte, MaxFrame/2)))), ErrTooLarge},
		{"a key twice", result(Map(Field{"a", Nil()}, Field{"b", Nil()}, Field{"a", Nil()})), ErrDuplicate},
		{"a key twice in a large map", result(Map(wide...)), ErrDuplicate},
		{"a key twice once it is UTF-8", result(Map(Field{"\xff", Nil()}, Field{"\xfe", Nil()})), ErrDuplicate},
		{"a key that is another one's replacement", result(Map(Field{"\ufffd", Nil()}, Field{"\xfe", Nil()})), ErrDuplicate},
		{"a key that is an earlier one's replacement", result(Map(Field{"\xfe", Nil()}, Field{"a", Nil()}, Field{"\ufffd", Nil()})), ErrDuplicate},
		{"a key twice behind a replaced one", result(Map(Field{"a", Nil()}, Field{"\xfe", Nil()}, Field{"a", Nil()})), ErrDuplicate},
		{"a hook_call with id 0", func(b []byte) ([]byte, error) { return AppendHookCall(b, 0, HookCall{}) }, ErrShape},
		{"a hook_call with a negative id", func(b []byte) ([]byte, error) { return AppendHookCall(b, -1, HookCall{}) }, ErrShape},
		{"a cap_call without args", func(b []byte) ([]byte, error) { return AppendCapCall(b, 1, CapCall{}) }, ErrShape},
		{"a cap_call whose args are a list", func(b []byte) ([]byte, error) { return AppendCapCall(b, 1, CapCall{Args: List()}) }, ErrShape},
		{"a result of another kind", func(b []byte) ([]byte, error) { return AppendResult(b, KindCancel, 1, Result{}) }, ErrShape},
		{"a name longer than a frame", func(b []byte) ([]byte, error) {
			return AppendHookCall(b, 1, HookCall{Name: strings.Repeat("x", MaxFrame)})
		}, ErrTooLarge},
		{"a token longer than a frame", func(b []byte) ([]byte, error) {
			return AppendCapCall(b, 1, CapCall{Token: make([]byte, MaxFrame), Args: Map()})
		}, ErrTooLarge},
		{"a message longer than a frame", func(b []byte) ([]byte, error) {
			return AppendResult(b, KindCapResult, 1, Result{Fault: Fault{Msg: strings.Repeat("x", MaxFrame)}})
		}, ErrTooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			dst := []byte("what was there before")
			got, err := c.write(dst)
			if !errors.Is(err, c.want) {
				t.Fatalf("error %v; want %v", err, c.want)
			}
			if err != nil && !bytes.Equal(got, dst) {
				t.Errorf("on an error dst came back with %d bytes more", len(got)-len(dst))
			}
			if !bytes.HasPrefix(got, dst) {
				t.Error("what was there before is not there after")
			}
			if err == nil {
				if _, err := frames(bytes.NewReader(got[len(dst):]), Host); err.Error() != "EOF" {
					t.Errorf("the reader says %v", err)
				}
			}
		})
	}
}

func TestBytesThatAreNoUTF8AreReplacedOneByOne(t *testing.T) {
	const dirty, clean = "a\xff\xfeb\xe2\x82c", "a\ufffd\ufffdb\ufffd\ufffdc"
	call := HookCall{Kind: dirty, Name: dirty, Args: List(String(dirty), Text([]byte(dirty)), Map(Field{dirty, Bin([]byte(dirty))}))}
	frame := mustAppend(t)(AppendHookCall(nil, 1, call))
	got, err := Decode(frame[headerLen:], Satellite)
	if err != nil {
		t.Fatal(err)
	}
	want := HookCall{Token: []byte{}, Kind: clean, Name: clean, Args: List(String(clean), String(clean), Map(Field{clean, Bin([]byte(dirty))}))}
	if diff := differ(got, Frame{ID: 1, Kind: KindHookCall, Call: want}); diff != "" {
		t.Errorf("%s: %+v", diff, got)
	}
	frame = mustAppend(t)(AppendResult(nil, KindHookResult, 1, Result{Fault: Fault{dirty, dirty}}))
	if got, err = Decode(frame[headerLen:], Host); err != nil || got.Result.Fault != (Fault{clean, clean}) {
		t.Errorf("%+v, %v", got.Result.Fault, err)
	}
	frame = mustAppend(t)(AppendCapCall(nil, 1, CapCall{Cap: dirty, Args: Map()}))
	if got, err = Decode(frame[headerLen:], Host); err != nil || got.Cap.Cap != clean {
		t.Errorf("%+v, %v", got.Cap, err)
	}
	if call.Name != dirty {
		t.Error("writing changed the caller's value")
	}
}

// A body decides by side, and a side that is neither reads nothing.
func TestNoSideReadsNothing(t *testing.T) {
	for _, frame := range [][]byte{
		AppendHeartbeat(nil), AppendCancel(nil, 1), mustAppend(t)(AppendHookCall(nil, 1, HookCall{})),
		mustAppend(t)(AppendResult(nil, KindHookResult, 1, Result{})),
	} {
		_, err := Decode(frame[headerLen:], 0)
		checkRefusal(t, err, RuleWay, "no side")
	}
}

// Time with the square of a map's size would keep this test, and a host, busy for minutes.
func TestALargeMapIsCheckedForDuplicates(t *testing.T) {
	const n = MaxValues - 6
	fields := make([]Field, n)
	for i := range fields {
		fields[i].Key = string(rune('a'+i%26)) + strings.Repeat("x", i/26%5) + string(rune(0x4e00+i/130))
	}
	frame := mustAppend(t)(AppendResult(nil, KindHookResult, 1, Result{OK: true, Value: Map(fields...)}))
	if _, err := Decode(frame[headerLen:], Host); err != nil {
		t.Fatal(err)
	}
	last := fields[n-1].Key
	at := bytes.LastIndex(frame, []byte(last))
	first := bytes.LastIndex(frame[:at], []byte(fields[n-1-130*26].Key))
	if first < 0 || len(fields[n-1-130*26].Key) != len(last) {
		t.Fatal("the test's keys are not of one length")
	}
	copy(frame[first:], last)
	_, err := Decode(frame[headerLen:], Host)
	checkRefusal(t, err, RuleDuplicate, "value")
}

// Long keys are the dearest: each is copied, and once more looked up.
func TestTheDearestFrameCostsWhatItsBoundSays(t *testing.T) {
	fields := make([]Field, MaxValues-6)
	for i := range fields {
		fields[i].Key = strings.Repeat("k", 50) + string(rune(0x10000+i))
	}
	frame := mustAppend(t)(AppendResult(nil, KindHookResult, 1, Result{OK: true, Value: Map(fields...)}))
	before := allocated()
	f, err := Decode(frame[headerLen:], Host)
	if err != nil {
		t.Fatal(err)
	}
	if spent := (allocated() - before) >> 20; spent > 75 || spent < 30 {
		t.Errorf("decoding %d MiB took %d MiB; the comment on MaxValues says some 70", len(frame)>>20, spent)
	}
	if got, _ := f.Result.Value.AsMap(); len(got) != len(fields) {
		t.Errorf("%d fields", len(got))
	}
}

func TestFaultIsAnError(t *testing.T) {
	var err error = Fault{CodeRefused, "days is 9"}
	if err.Error() != "refused: days is 9" {
		t.Error(err)
	}
}

// The pools must not let two goroutines into one encoder or decoder; the race detector is the witness.
func TestManyGoroutinesWriteAndDecode(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				text := bytes.Repeat([]byte{byte('a' + g)}, i)
				frame, err := AppendHookCall(nil, int64(i+1), toolCall(text))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := AppendResult(nil, KindHookResult, 1, Result{OK: true, Value: nested(40, Nil())}); err != ErrTooDeep {
					t.Error(err)
					return
				}
				f, err := Decode(frame[headerLen:], Satellite)
				args, _ := f.Call.Args.Get("args")
				if got, _ := args.AsText(); err != nil || !bytes.Equal(got, text) {
					t.Errorf("%q, %v", got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// values draws any value that nests no deeper than given, of texts drawn from text.
func values(depth int, text *rapid.Generator[string]) *rapid.Generator[Value] {
	return rapid.Custom(func(t *rapid.T) Value {
		most := TypeMap
		if depth == 0 {
			most = TypeBin
		}
		switch Type(rapid.IntRange(0, int(most)).Draw(t, "type")) {
		case TypeBool:
			return Bool(rapid.Bool().Draw(t, "bool"))
		case TypeInt:
			return Int(rapid.Int64().Draw(t, "int"))
		case TypeFloat:
			return Float(math.Float64frombits(rapid.Uint64().Draw(t, "float")))
		case TypeString:
			return String(text.Draw(t, "str"))
		case TypeBin:
			return Bin(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "bin"))
		case TypeList:
			return List(rapid.SliceOfN(values(depth-1, text), 0, 20).Draw(t, "list")...)
		case TypeMap:
			keys := rapid.SliceOfN(text, 0, 20).Draw(t, "keys")
			fields := make([]Field, len(keys))
			for i := range keys {
				fields[i] = Field{keys[i], values(depth-1, text).Draw(t, "field")}
			}
			return Map(fields...)
		}
		return Nil()
	})
}

func frameWith(t *rapid.T, v Value, text *rapid.Generator[string]) (Frame, Side) {
	f := Frame{ID: rapid.Int64Range(1, math.MaxInt64).Draw(t, "id")}
	token := rapid.SliceOfN(rapid.Byte(), 0, TokenLen).Draw(t, "token")
	deadline := rapid.Int64().Draw(t, "deadline")
	switch f.Kind = rapid.SampledFrom([]Kind{KindHookCall, KindHookResult, KindCapCall, KindCapResult}).Draw(t, "kind"); f.Kind {
	case KindHookCall:
		f.Call = HookCall{token, text.Draw(t, "call"), text.Draw(t, "name"), v, deadline}
		return f, Satellite
	case KindCapCall:
		f.Cap = CapCall{token, text.Draw(t, "cap"), Map(Field{"v", v}), deadline}
		return f, Host
	case KindCapResult:
		f.Result = Result{OK: true, Value: v}
		return f, Satellite
	}
	if f.Result.OK = rapid.Bool().Draw(t, "ok"); f.Result.OK {
		f.Result.Value = v
	} else {
		f.Result.Fault = Fault{text.Draw(t, "code"), text.Draw(t, "msg")}
	}
	return f, Host
}

func TestWhatIsWrittenReadsTheSame(t *testing.T) {
	text := rapid.String()
	rapid.Check(t, func(t *rapid.T) {
		f, side := frameWith(t, values(4, text).Draw(t, "value"), text)
		wrote, err := encode(nil, f)
		if errors.Is(err, ErrDuplicate) {
			t.Skip("drew one key twice")
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(wrote[headerLen:], side)
		if err != nil {
			t.Fatal(err)
		}
		if diff := differ(got, f); diff != "" {
			t.Fatalf("%s differs:\n got %+v\nwant %+v", diff, got, f)
		}
	})
}

func TestWhatIsWrittenIsNeverRefused(t *testing.T) {
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]byte{'a', 'b', 0xff, 0xc3, 0xa9, 0x80}), 0, 3), func(b []byte) string { return string(b) })
	rapid.Check(t, func(t *rapid.T) {
		deep := rapid.IntRange(0, MaxDepth+2).Draw(t, "deep")
		f, side := frameWith(t, nested(deep, values(2, text).Draw(t, "value")), text)
		wrote, err := encode(nil, f)
		if errors.Is(err, ErrDuplicate) || errors.Is(err, ErrTooDeep) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Decode(wrote[headerLen:], side); err != nil {
			t.Fatalf("%+v was written and is refused: %v", f, err)
		}
	})
}

// The short forms are written without the msgpack encoder, and must be what it writes.
func TestShortFormsAreTheEncodersOwn(t *testing.T) {
	tail := func(v Value) []byte {
		frame, err := AppendResult(nil, KindHookResult, 1, Result{OK: true, Value: v})
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := bytes.Cut(frame, []byte("\xa5value"))
		return after
	}
	check := func(v Value, plain any) {
		t.Helper()
		want, err := msgpack.Marshal(plain)
		if err != nil {
			t.Fatal(err)
		}
		if got := tail(v); !bytes.Equal(got, want) {
			t.Errorf("%T of %.40v is % x; want % x", plain, plain, got, want)
		}
	}
	check(Bool(false), false)
	check(Bool(true), true)
	for n := range int64(300) {
		for _, n := range []int64{n, -n} {
			var want bytes.Buffer
			if err := msgpack.NewEncoder(&want).EncodeInt(n); err != nil {
				t.Fatal(err)
			}
			if got := tail(Int(n)); !bytes.Equal(got, want.Bytes()) {
				t.Errorf("%d is % x; want % x", n, got, want.Bytes())
			}
		}
		text := strings.Repeat("k", int(n))
		check(String(text), text)
		check(Map(Field{text, Nil()}), map[string]any{text: nil})
	}
	for n := range 20 {
		fields, values := []Field{}, []any{}
		var want bytes.Buffer
		enc := msgpack.NewEncoder(&want)
		enc.EncodeMapLen(n)
		for i := range n {
			key := strings.Repeat("k", i)
			fields = append(fields, Field{key, Nil()})
			values = append(values, nil)
			enc.EncodeString(key)
			enc.EncodeNil()
		}
		if got := tail(Map(fields...)); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("a map of %d is % x; want % x", n, got, want.Bytes())
		}
		check(List(make([]Value, n)...), values)
	}
}
