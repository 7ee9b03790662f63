package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

const vectorDir = "../../testdata/wire"

// vector is one case of testdata/wire; its README says what the fields mean.
type vector struct {
	Name  string
	Side  string
	Hex   string
	Parts []struct {
		Hex   string
		Times int
	}
	Want      json.RawMessage
	Canonical bool
	Refused   Rule
	Names     string
	End       string // of a stream
}

func (v vector) side(t testing.TB) Side {
	switch v.Side {
	case "host":
		return Host
	case "satellite":
		return Satellite
	}
	t.Fatalf("side %q", v.Side)
	return 0
}

func (v vector) bytes(t testing.TB) []byte {
	t.Helper()
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	out := unhex(v.Hex)
	for _, part := range v.Parts {
		out = append(out, bytes.Repeat(unhex(part.Hex), part.Times)...)
	}
	return out
}

// vectors reads one file, strictly, so that a misspelt field does not turn a case into one that cannot fail.
func vectors(t testing.TB, file string) []vector {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(vectorDir, file))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		About string
		Cases []vector
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(doc.Cases) == 0 {
		t.Fatalf("%s: no cases", file)
	}
	seen := make(map[string]bool)
	for _, v := range doc.Cases {
		if seen[v.Name] {
			t.Fatalf("%s: two cases named %q", file, v.Name)
		}
		seen[v.Name] = true
	}
	return doc.Cases
}

var payloadFiles = []string{"hook_call.json", "hook_result.json", "cap_call.json", "cap_result.json", "signal.json",
	"envelope.json", "value.json", "bound.json", "hostile.json"}

const streamFile = "stream.json"

func TestEveryVectorFileIsRead(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(vectorDir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != len(payloadFiles)+1 {
		t.Errorf("%d vector files in %s, and the tests read %d", len(found), vectorDir, len(payloadFiles)+1)
	}
}

func TestPayloadVectors(t *testing.T) {
	for _, file := range payloadFiles {
		t.Run(strings.TrimSuffix(file, ".json"), func(t *testing.T) {
			for _, v := range vectors(t, file) {
				t.Run(v.Name, func(t *testing.T) { v.checkPayload(t) })
			}
		})
	}
}

func (v vector) checkPayload(t *testing.T) {
	payload := v.bytes(t)
	before := allocated()
	got, err := Decode(payload, v.side(t))
	if spent := allocated() - before; spent > most(len(payload)) {
		t.Errorf("decoding %d bytes allocated %d", len(payload), spent)
	}
	if v.Refused != "" {
		checkRefusal(t, err, v.Refused, v.Names)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	want := frameOf(t, v.Want)
	if diff := differ(got, want); diff != "" {
		t.Fatalf("%s differs:\n got %+v\nwant %+v", diff, got, want)
	}
	if len(payload) < 1<<12 {
		checkEnds(t, payload, v.side(t))
	}
	if _, ok := known([]byte(want.Kind)); !ok {
		return
	}
	wrote, err := encode(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(wrote[headerLen:], v.side(t))
	if err != nil {
		t.Fatalf("what was written is refused: %v", err)
	}
	if diff := differ(again, want); diff != "" {
		t.Fatalf("%s differs after a round trip: %+v", diff, again)
	}
	if v.Canonical && !bytes.Equal(wrote[headerLen:], payload) {
		t.Errorf("wrote %s\n want %x", cut(wrote[headerLen:]), cut(payload))
	}
}

func cut(b []byte) string { return fmt.Sprintf("%x", b[:min(len(b), 300)]) }

// checkEnds checks two laws of a payload that decodes: none of its proper prefixes does, and nothing may follow it.
func checkEnds(t *testing.T, payload []byte, side Side) {
	t.Helper()
	for n := range payload {
		_, err := Decode(payload[:n], side)
		checkRefusal(t, err, RuleTruncated, "")
	}
	_, err := Decode(append(payload[:len(payload):len(payload)], 0xc0), side)
	checkRefusal(t, err, RuleTrailing, "")
}

func checkRefusal(t *testing.T, err error, rule Rule, names string) {
	t.Helper()
	var refusal *ProtocolError
	if !errors.As(err, &refusal) {
		t.Fatalf("error %v; want a refusal", err)
	}
	if refusal.Rule != rule {
		t.Errorf("refused by the rule %q: %v; want %q", refusal.Rule, err, rule)
	}
	if !strings.Contains(refusal.Reason, names) {
		t.Errorf("%v; want it to name %q", err, names)
	}
	if len(refusal.Reason) > 512 {
		t.Errorf("a reason of %d bytes", len(refusal.Reason))
	}
}

// allocated is how much this process has ever allocated. These tests run one at a time.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// most is what a decoder may allocate for so many bytes: a field a byte and a fixed sum, and never more than its bound on values.
func most(n int) uint64 {
	size := uint64(reflect.TypeFor[Field]().Size())
	return 64<<10 + min(uint64(n), MaxValues)*2*size
}

func TestStreamVectors(t *testing.T) {
	for _, v := range vectors(t, streamFile) {
		t.Run(v.Name, func(t *testing.T) {
			stream := v.bytes(t)
			var raw []json.RawMessage
			if err := json.Unmarshal(v.Want, &raw); err != nil {
				t.Fatal(err)
			}
			want := make([]Frame, len(raw))
			for i := range raw {
				want[i] = frameOf(t, raw[i])
			}
			check := func(how string, r io.Reader) {
				t.Helper()
				got, err := frames(r, v.side(t))
				if len(got) != len(want) {
					t.Fatalf("%s: %d frames, then %v; want %d", how, len(got), err, len(want))
				}
				for i := range got {
					if diff := differ(got[i], want[i]); diff != "" {
						t.Fatalf("%s: frame %d: %s differs:\n got %+v\nwant %+v", how, i, diff, got[i], want[i])
					}
				}
				checkStreamEnd(t, err, v)
			}
			check("whole", bytes.NewReader(stream))
			check("byte by byte", iotest.OneByteReader(bytes.NewReader(stream)))
			check("by halves", iotest.HalfReader(bytes.NewReader(stream)))
			check("with its last bytes and the end at once", iotest.DataErrReader(bytes.NewReader(stream)))
			for at := 0; at < len(stream) && len(stream) < 1<<12; at++ {
				check("cut at "+strconv.Itoa(at), io.MultiReader(bytes.NewReader(stream[:at]), bytes.NewReader(stream[at:])))
			}
		})
	}
}

func checkStreamEnd(t *testing.T, err error, v vector) {
	t.Helper()
	switch v.End {
	case "eof":
		if err != io.EOF {
			t.Fatalf("ends with %v; want io.EOF", err)
		}
	case "unexpected_eof":
		if err != io.ErrUnexpectedEOF {
			t.Fatalf("ends with %v; want io.ErrUnexpectedEOF", err)
		}
	default:
		checkRefusal(t, err, Rule(v.End), v.Names)
	}
}

// frames reads a stream to its end.
func frames(r io.Reader, side Side) ([]Frame, error) {
	reader := NewReader(r, side)
	var all []Frame
	for {
		f, err := reader.Read()
		if err != nil {
			return all, err
		}
		all = append(all, f)
	}
}

// encode writes a frame of any kind that is ever sent.
func encode(dst []byte, f Frame) ([]byte, error) {
	switch f.Kind {
	case KindHookCall:
		return AppendHookCall(dst, f.ID, f.Call)
	case KindHookResult, KindCapResult:
		return AppendResult(dst, f.Kind, f.ID, f.Result)
	case KindCapCall:
		return AppendCapCall(dst, f.ID, f.Cap)
	case KindCancel:
		return AppendCancel(dst, f.ID), nil
	case KindHeartbeat:
		if f.ID != 0 {
			return appendEmpty(dst, f.ID, KindHeartbeat), nil
		}
		return AppendHeartbeat(dst), nil
	}
	return dst, fmt.Errorf("kind %q is never sent", f.Kind)
}

// frameOf builds a frame from its meaning in a vector.
func frameOf(t testing.TB, raw []byte) Frame {
	t.Helper()
	var want struct {
		Kind Kind
		ID   int64
		Body map[string]json.RawMessage
	}
	strictly(t, raw, &want)
	f := Frame{Kind: want.Kind, ID: want.ID}
	text := func(key string) (s string) { strictly(t, want.Body[key], &s); return s }
	switch want.Kind {
	case KindHookCall:
		token, _ := valueOf(t, want.Body["token"]).AsBin()
		deadline, _ := valueOf(t, want.Body["deadline_ms"]).AsInt()
		f.Call = HookCall{token, text("kind"), text("name"), valueOf(t, want.Body["args"]), deadline}
	case KindCapCall:
		token, _ := valueOf(t, want.Body["token"]).AsBin()
		deadline, _ := valueOf(t, want.Body["deadline_ms"]).AsInt()
		f.Cap = CapCall{token, text("cap"), valueOf(t, want.Body["args"]), deadline}
	case KindHookResult, KindCapResult:
		strictly(t, want.Body["ok"], &f.Result.OK)
		if f.Result.OK {
			f.Result.Value = valueOf(t, want.Body["value"])
		} else {
			strictly(t, want.Body["error"], &f.Result.Fault)
		}
	}
	return f
}

func strictly(t testing.TB, raw []byte, into any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
}

// valueOf builds a value from the notation of the vectors.
func valueOf(t testing.TB, raw json.RawMessage) Value {
	t.Helper()
	switch raw[0] {
	case 'n':
		return Nil()
	case 't', 'f':
		return Bool(raw[0] == 't')
	case '"':
		var s string
		strictly(t, raw, &s)
		return String(s)
	case '[':
		var items []json.RawMessage
		strictly(t, raw, &items)
		list := make([]Value, len(items))
		for i := range items {
			list[i] = valueOf(t, items[i])
		}
		return List(list...)
	case '{':
		return taggedOf(t, raw)
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return Int(n)
}

func taggedOf(t testing.TB, raw json.RawMessage) Value {
	t.Helper()
	var tagged map[string]json.RawMessage
	strictly(t, raw, &tagged)
	times := 1
	if n, ok := tagged["times"]; ok {
		strictly(t, n, &times)
		delete(tagged, "times")
	}
	if len(tagged) != 1 {
		t.Fatalf("%s: want one tag", raw)
	}
	var s string
	for tag, rest := range tagged {
		if tag != "map" && tag != "list" {
			strictly(t, rest, &s)
		}
		switch tag {
		case "int":
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return Int(n)
		case "float":
			bits, err := strconv.ParseUint(s, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return Float(math.Float64frombits(bits))
		case "str":
			return String(strings.Repeat(s, times))
		case "bin":
			b, err := hex.DecodeString(s)
			if err != nil {
				t.Fatal(err)
			}
			return Bin(bytes.Repeat(b, times))
		case "list":
			list := make([]Value, times)
			for i := range list {
				list[i] = valueOf(t, rest)
			}
			return List(list...)
		case "map":
			var pairs [][2]json.RawMessage
			strictly(t, rest, &pairs)
			fields := make([]Field, len(pairs))
			for i, pair := range pairs {
				strictly(t, pair[0], &fields[i].Key)
				fields[i].Value = valueOf(t, pair[1])
			}
			return Map(fields...)
		}
	}
	t.Fatalf("%s: unknown tag", raw)
	return Value{}
}

// differ names the first part in which two frames differ in meaning.
func differ(a, b Frame) string {
	switch {
	case a.Kind != b.Kind:
		return "kind"
	case a.ID != b.ID:
		return "id"
	case !bytes.Equal(a.Call.Token, b.Call.Token) || !bytes.Equal(a.Cap.Token, b.Cap.Token):
		return "token"
	case a.Call.Kind != b.Call.Kind:
		return "the call's kind"
	case a.Call.Name != b.Call.Name || a.Cap.Cap != b.Cap.Cap:
		return "name"
	case a.Call.DeadlineMS != b.Call.DeadlineMS || a.Cap.DeadlineMS != b.Cap.DeadlineMS:
		return "deadline_ms"
	case !equal(a.Call.Args, b.Call.Args) || !equal(a.Cap.Args, b.Cap.Args):
		return "args"
	case a.Result.OK != b.Result.OK || a.Result.Fault != b.Result.Fault:
		return "result"
	case !equal(a.Result.Value, b.Result.Value):
		return "value"
	}
	return ""
}

// equal compares floats by their bits, so that NaN is itself and -0.0 is not 0.0.
func equal(a, b Value) bool {
	if a.typ != b.typ || a.num != b.num || !bytes.Equal(a.raw, b.raw) || len(a.list) != len(b.list) || len(a.fields) != len(b.fields) {
		return false
	}
	for i := range a.list {
		if !equal(a.list[i], b.list[i]) {
			return false
		}
	}
	for i := range a.fields {
		if a.fields[i].Key != b.fields[i].Key || !equal(a.fields[i].Value, b.fields[i].Value) {
			return false
		}
	}
	return true
}
