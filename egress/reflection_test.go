package egress

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
)

func TestEveryEchoIsFound(t *testing.T) {
	for _, value := range []string{spelt, "12345678", "value with spaces", `"quoted" <&> 'value'`, "aaaaaaaa", `back\slash\\value`, "100%25%41sure", "=+/=+/=+/"} {
		r := newReflection("KEY", secretOf(t, value))
		for name, echo := range echoes(value) {
			for _, text := range []string{echo, "before" + echo, strings.Repeat("%25\\\\", 9) + echo + "after", "\x00\xff" + echo + "\xff", echo[:3] + echo} {
				if !r.in(t.Context(), []byte(text)) {
					t.Errorf("%q: %s is not found in %q", value, name, text)
				}
			}
		}
		for _, text := range []string{
			html.EscapeString(value), strings.ReplaceAll(html.EscapeString(value), "&#34;", "&quot;"), strings.ReplaceAll(html.EscapeString(value), "&#39;", "&#x27;"),
			url.QueryEscape(html.EscapeString(value)), strings.ReplaceAll(html.EscapeString(value), "&", "\\u0026"),
			folded(base64.StdEncoding.EncodeToString([]byte("user:"+value)), "\r\n"), folded(value, "\n"), folded(value, "\x00"), "\x00" + folded(value, "\x00"),
			"q=" + url.QueryEscape(value) + "&x=y", url.Values{"a": {value}}.Encode(),
		} {
			if !r.in(t.Context(), []byte(text)) {
				t.Errorf("%q is not found in %q", value, text)
			}
		}
	}
}

// folded is text with something between all of its characters.
func folded(text, with string) string { return strings.Join(strings.Split(text, ""), with) }

func TestWhatIsNotTheSecretIsHandedOver(t *testing.T) {
	r := newReflection("KEY", secretOf(t, "0123456789abcdef"))
	for _, text := range []string{
		"", "%", "%%", "%2", `\`, `\u`, `\u00`, `\x`, `\u00zz`, "0123456789abcde", "123456789abcdef", "0123456789ABCDEF",
		"01234567%8089abcdef", base64.StdEncoding.EncodeToString([]byte("0123456789abcde")), strings.Repeat("0123456789abcde ", 1000),
	} {
		if r.in(t.Context(), []byte(text)) {
			t.Errorf("it is found in %q", text)
		}
	}
}

func TestCopiesForTheSearchAreWiped(t *testing.T) {
	r := newReflection("KEY", secretOf(t, spelt))
	r.wipe()
	if left := string(r.copies[:cap(r.copies)]); strings.Trim(left, "\x00") != "" {
		t.Errorf("%q is left", left)
	}
}

func FuzzReflection(f *testing.F) {
	f.Add("some secret value", "before", "after", uint16(0), uint64(0))
	f.Add(spelt, "%", `\`, uint16(1), uint64(5))
	f.Add("%25%41\\\\n\\u0041", "\\", "\\", uint16(7), ^uint64(0))
	f.Add("AAAAAAAA", "AAA", "AAA", uint16(3), uint64(0xaaaaaaaa))
	f.Fuzz(func(t *testing.T, value, before, after string, way uint16, mix uint64) {
		secret, err := NewSecret([]byte(value))
		if err != nil || len(before)+len(after) > 1<<16 {
			return
		}
		var echo string
		switch way % 9 {
		case 0:
			echo = value
		case 1: // what an encoder leaves as it is never looks like its own escape
			echo = mixed(value, mix, `%`, "%%%02x", "%%%02X")
			before, after = strings.TrimRight(before, "%0123456789abcdefABCDEF"), strings.TrimLeft(after, "0123456789abcdefABCDEF")
		case 2:
			echo = mixed(value, mix, `\`, `\u%04x`, `\u%04X`)
			before = strings.TrimRight(before, `\ux0123456789abcdefABCDEF`)
		case 3:
			echo = hex.EncodeToString([]byte(value))
		case 4:
			echo = strings.ToUpper(hex.EncodeToString([]byte(value)))
		case 5:
			before, echo, after = "", base64.StdEncoding.EncodeToString([]byte(before+value+after)), ""
		case 6:
			before, echo, after = "", base64.RawURLEncoding.EncodeToString([]byte(before+value+after)), ""
		case 7:
			text, _ := json.Marshal(strings.ToValidUTF8(before, "") + value + after)
			before, echo, after = "", string(text), ""
		case 8:
			before, echo, after = "", url.QueryEscape(before+base64.URLEncoding.EncodeToString([]byte(value))+after), ""
		}
		r := newReflection("KEY", secret)
		text := []byte(before + echo + after)
		kept := bytes.Clone(text)
		if !r.in(t.Context(), text) {
			t.Errorf("%q, way %d: not found in %q", value, way%9, text)
		}
		if !bytes.Equal(kept, text) {
			t.Error("the search changed the text")
		}
	})
}

// mixed encodes the bytes that must be, and of the others those that mix says.
func mixed(value string, mix uint64, must, lower, upper string) string {
	var b strings.Builder
	for i, c := range []byte(value) {
		bits := mix >> (2 * (i % 32)) & 3
		switch {
		case bits == 1 || strings.IndexByte(must, c) >= 0:
			fmt.Fprintf(&b, lower, c)
		case bits == 2:
			fmt.Fprintf(&b, upper, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
