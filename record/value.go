package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loomext/loomext/internal/wire"
)

// What JSON has no word for is an object with one of these keys. A map of the protocol that has a key beginning with a
// dollar is written as keyMap, a list of pairs, so that it is never taken for one of them.
const (
	keyBytes = "$base64" // {"$base64": "AAEC"}: bytes
	keyFloat = "$float"  // {"$float": "NaN"}: a float that is no number
	keyMap   = "$map"    // {"$map": [["$key", 1]]}
	keyBlob  = "$blob"   // {"$blob": "<SHA-256>", "bytes": 70000, "type": "str"}: text or bytes in the directory
)

// InlineMax is how long a text or bytes may be to stand in a line, in bytes. Longer ones are files: a line that people
// page through is no place for a picture.
const InlineMax = 4 << 10

// spill puts a long body where it is kept, and gives its name.
type spill func(body []byte) (digest string, err error)

// encoder appends values as JSON.
type encoder struct {
	dst   []byte
	keep  spill // nil keeps everything in the line
	bytes int64 // of all texts and bytes together
	err   error
}

func (e *encoder) value(v wire.Value) {
	switch v.Type() {
	case wire.TypeNil:
		e.dst = append(e.dst, "null"...)
	case wire.TypeBool:
		b, _ := v.AsBool()
		e.dst = strconv.AppendBool(e.dst, b)
	case wire.TypeInt:
		n, _ := v.AsInt()
		e.dst = strconv.AppendInt(e.dst, n, 10)
	case wire.TypeFloat:
		f, _ := v.AsFloat()
		e.float(f)
	case wire.TypeString:
		text, _ := v.AsText()
		e.text(text)
	case wire.TypeBin:
		b, _ := v.AsBin()
		e.bin(b)
	case wire.TypeList:
		list, _ := v.AsList()
		e.list(list)
	case wire.TypeMap:
		fields, _ := v.AsMap()
		e.fields(fields)
	}
}

// float writes one so that it is not read as an integer.
func (e *encoder) float(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		e.dst = append(e.dst, `{"`+keyFloat+`":"`...)
		e.dst = strconv.AppendFloat(e.dst, f, 'g', -1, 64)
		e.dst = append(e.dst, `"}`...)
		return
	}
	at := len(e.dst)
	e.dst = strconv.AppendFloat(e.dst, f, 'g', -1, 64)
	if !bytes.ContainsAny(e.dst[at:], ".e") {
		e.dst = append(e.dst, ".0"...)
	}
}

func (e *encoder) text(text []byte) {
	e.bytes += int64(len(text))
	if len(text) > InlineMax && e.keep != nil {
		e.blob(text, "str")
		return
	}
	e.dst = appendText(e.dst, text)
}

func (e *encoder) bin(b []byte) {
	e.bytes += int64(len(b))
	if len(b) > InlineMax && e.keep != nil {
		e.blob(b, "bin")
		return
	}
	e.dst = append(e.dst, `{"`+keyBytes+`":"`...)
	e.dst = base64.StdEncoding.AppendEncode(e.dst, b)
	e.dst = append(e.dst, `"}`...)
}

// blob writes a reference to a body that is kept beside the record. Where it cannot be kept, the record has failed, and
// what stands in the line no longer matters.
func (e *encoder) blob(body []byte, kind string) {
	digest, err := e.keep(body)
	if err != nil {
		e.err = err
		return
	}
	e.dst = append(e.dst, `{"`+keyBlob+`":"`...)
	e.dst = append(e.dst, digest...)
	e.dst = append(e.dst, `","bytes":`...)
	e.dst = strconv.AppendInt(e.dst, int64(len(body)), 10)
	e.dst = append(e.dst, `,"type":"`...)
	e.dst = append(e.dst, kind...)
	e.dst = append(e.dst, `"}`...)
}

func (e *encoder) list(list []wire.Value) {
	e.dst = append(e.dst, '[')
	for i, v := range list {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		e.value(v)
	}
	e.dst = append(e.dst, ']')
}

func (e *encoder) fields(fields []wire.Field) {
	pairs := false
	for i := range fields {
		pairs = pairs || strings.HasPrefix(fields[i].Key, "$")
	}
	open, between, end := "{", byte(':'), "}"
	if pairs {
		open, between, end = `{"`+keyMap+`":[`, ',', "]}"
	}
	e.dst = append(e.dst, open...)
	for i := range fields {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		if pairs {
			e.dst = append(e.dst, '[')
		}
		e.dst = appendText(e.dst, fields[i].Key)
		e.dst = append(e.dst, between)
		e.value(fields[i].Value)
		if pairs {
			e.dst = append(e.dst, ']')
		}
	}
	e.dst = append(e.dst, end...)
}

// appendText appends a JSON string. Control and format characters are escaped, wherever they stand in Unicode: a record is
// looked at in terminals.
func appendText[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		if plain[c] {
			i = pastPlain(text, i+1)
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, text[from:i]...)
			dst = appendEscaped(dst, rune(c))
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
		if r == utf8.RuneError && size == 1 || hidden(r) {
			dst = append(dst, text[from:i]...)
			dst = appendEscaped(dst, r)
			from = i + size
		}
		i += size
	}
	dst = append(dst, text[from:]...)
	return append(dst, '"')
}

// pastPlain is where the plain bytes from i on end. Most texts are plain to their end, so that it looks at eight at once.
func pastPlain[T string | []byte](text T, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(text); i += 8 {
		x := uint64(text[i]) | uint64(text[i+1])<<8 | uint64(text[i+2])<<16 | uint64(text[i+3])<<24 |
			uint64(text[i+4])<<32 | uint64(text[i+5])<<40 | uint64(text[i+6])<<48 | uint64(text[i+7])<<56
		// A byte that is below what is taken from it borrows, which sets its highest bit.
		if (x|(x-' '*ones)|(x^'"'*ones-ones)|(x^'\\'*ones-ones)|(x^0x7f*ones-ones))&high != 0 {
			break
		}
	}
	for i < len(text) && plain[text[i]] {
		i++
	}
	return i
}

// plain are the bytes that stand for themselves in a JSON string and are shown as they are.
var plain = func() (plain [256]bool) {
	for c := byte(' '); c < 0x7f; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()

// hidden says of a character beyond ASCII that a terminal may do something else than show it.
func hidden(r rune) bool {
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

const hexDigits = "0123456789abcdef"

func appendEscaped(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\n':
		return append(dst, '\\', 'n')
	case '\t':
		return append(dst, '\\', 't')
	}
	if r > 0xffff {
		r -= 0x10000
		dst = appendUnit(dst, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return appendUnit(dst, r)
}

func appendUnit(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// fetch reads a kept body by its name.
type fetch func(digest string) ([]byte, error)

// decode reads a value back. It is total: what is no value of the protocol is an error.
func decode(text []byte, get fetch) (wire.Value, error) {
	if v, ok := scanValue(text, get); ok {
		return v, nil
	}
	d := &decoder{dec: json.NewDecoder(bytes.NewReader(text)), get: get}
	d.dec.UseNumber()
	v, err := d.value(1)
	if err != nil {
		return wire.Value{}, err
	}
	if d.dec.More() {
		return wire.Value{}, fmt.Errorf("something stands after the value")
	}
	return v, nil
}

type decoder struct {
	dec *json.Decoder
	get fetch
}

func (d *decoder) value(depth int) (wire.Value, error) {
	token, err := d.dec.Token()
	if err != nil {
		return wire.Value{}, err
	}
	if depth > wire.MaxDepth {
		return wire.Value{}, wire.ErrTooDeep
	}
	switch t := token.(type) {
	case nil:
		return wire.Nil(), nil
	case bool:
		return wire.Bool(t), nil
	case string:
		return wire.String(t), nil
	case json.Number:
		return number(t.String())
	case json.Delim:
		if t == '[' {
			return d.list(depth)
		}
		return d.object(depth)
	}
	return wire.Value{}, fmt.Errorf("%v is no value", token)
}

func number(text string) (wire.Value, error) {
	if strings.ContainsAny(text, ".eE") {
		f, err := strconv.ParseFloat(text, 64)
		return wire.Float(f), err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return wire.Int(n), err
}

func (d *decoder) list(depth int) (wire.Value, error) {
	list := []wire.Value{}
	for d.dec.More() {
		v, err := d.value(depth + 1)
		if err != nil {
			return wire.Value{}, err
		}
		list = append(list, v)
	}
	_, err := d.dec.Token()
	return wire.List(list...), err
}

func (d *decoder) object(depth int) (wire.Value, error) {
	fields := []wire.Field{}
	for d.dec.More() {
		token, err := d.dec.Token()
		if err != nil {
			return wire.Value{}, err
		}
		key, _ := token.(string)
		v, err := d.value(depth + 1)
		if err != nil {
			return wire.Value{}, err
		}
		fields = append(fields, wire.Field{Key: key, Value: v})
	}
	if _, err := d.dec.Token(); err != nil {
		return wire.Value{}, err
	}
	return d.made(fields)
}

// made is the value that an object stands for.
func (d *decoder) made(fields []wire.Field) (wire.Value, error) {
	if len(fields) > 0 && strings.HasPrefix(fields[0].Key, "$") {
		return d.special(fields)
	}
	return wire.Map(fields...), nil
}

// special is a value that JSON has no word for.
func (d *decoder) special(fields []wire.Field) (wire.Value, error) {
	first := fields[0].Value
	if fields[0].Key == keyBytes {
		text, _ := first.AsText()
		b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
		n, err := base64.StdEncoding.Decode(b, text)
		return wire.Bin(b[:n]), err
	}
	switch text, _ := first.AsString(); fields[0].Key {
	case keyFloat:
		f, err := strconv.ParseFloat(text, 64)
		return wire.Float(f), err
	case keyMap:
		return pairs(first)
	case keyBlob:
		return d.body(text, fields)
	}
	return wire.Value{}, fmt.Errorf("%q is no kind of value", fields[0].Key)
}

func pairs(v wire.Value) (wire.Value, error) {
	list, _ := v.AsList()
	fields := make([]wire.Field, 0, len(list))
	for _, item := range list {
		pair, _ := item.AsList()
		if len(pair) != 2 {
			return wire.Value{}, fmt.Errorf("%s has an entry that is no pair", keyMap)
		}
		key, ok := pair[0].AsString()
		if !ok {
			return wire.Value{}, fmt.Errorf("%s has a key that is no text", keyMap)
		}
		fields = append(fields, wire.Field{Key: key, Value: pair[1]})
	}
	return wire.Map(fields...), nil
}

// body is a value that stands in a file.
func (d *decoder) body(digest string, fields []wire.Field) (wire.Value, error) {
	b, err := d.get(digest)
	if err != nil {
		return wire.Value{}, err
	}
	kind, _ := wire.Map(fields...).Get("type")
	if text, _ := kind.AsString(); text == "bin" {
		return wire.Bin(b), nil
	}
	return wire.Text(b), nil
}
