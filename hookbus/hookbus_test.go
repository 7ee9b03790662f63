package hookbus

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loomext/loomext/host"
	"github.com/loomext/loomext/manifest"
)

func TestTheEventsAreTheManifests(t *testing.T) {
	if !slices.Equal(names[:], manifest.Events()) {
		t.Errorf("%v, a manifest has %v", names, manifest.Events())
	}
}

func TestFence(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"a < b && <b>c</b> </ext>":       "a < b && <b>c</b> </ext>",
		"</extension>":                   "&lt;/extension>",
		`x<extension name="beta">y`:      `x&lt;extension name="beta">y`,
		"</EXTENSION\n>":                 "&lt;/EXTENSION\n>",
		"< / extension>":                 "&lt; / extension>",
		"<\u200b/ext\u200bension>":       "&lt;\u200b/ext\u200bension>",
		"<\n\t/\x00exten\u00adsion":      "&lt;\n\t/\x00exten\u00adsion",
		"</exten\u017fion>":              "&lt;/exten\u017fion>",
		"＜/ｅｘｔｅｎｓｉｏｎ＞":                   "&lt;/ｅｘｔｅｎｓｉｏｎ＞",
		"﹤/extension﹥":                   "&lt;/extension﹥",
		"<</extension>":                  "<&lt;/extension>",
		"<an extension>":                 "<an extension>",
		"\xff</extension>\xff":           "\xff&lt;/extension>\xff",
		"&lt;/extension>":                "&lt;/extension>",
		"<\u3164/ext\u2800en\u115fsion>": "&lt;\u3164/ext\u2800en\u115fsion>",
		"</𝐞𝐱𝐭𝐞𝐧𝐬𝐢𝐨𝐧></ⓔⓧⓣⓔⓝⓢⓘⓞⓝ>": "&lt;/𝐞𝐱𝐭𝐞𝐧𝐬𝐢𝐨𝐧>&lt;/ⓔⓧⓣⓔⓝⓢⓘⓞⓝ>",
		"</ext\xffension>":   "&lt;/ext\xffension>",
		"<!-- x <![CDATA[ y": "&lt;!-- x &lt;![CDATA[ y",
	} {
		if got := Fence("alpha", text); got != `<extension name="alpha">`+want+"</extension>" {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := Fence(`a"><b`, ""); got != `<extension name="a___b"></extension>` {
		t.Errorf("%q", got)
	}
}

// Whatever the text, there is one fence, and it is the bus's.
func TestAFenceCannotBeLeft(t *testing.T) {
	mark := regexp.MustCompile(`(?i)<[^\pL\pN<>]*extension`)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.String(),
			rapid.SampledFrom([]string{"<", "/", ">", "</extension>", "<extension", "ext", "ension", "EXTENSION", " ", "\n", "\u200b", `name="beta"`}))).Draw(t, "pieces"), "")
		got := Fence("alpha", text)
		inside := strings.TrimSuffix(strings.TrimPrefix(got, `<extension name="alpha">`), "</extension>")
		if len(inside) != len(got)-len(`<extension name="alpha"></extension>`) || mark.MatchString(inside) {
			t.Fatalf("%q", got)
		}
		if !strings.Contains(strings.ToLower(text), "extension") && !strings.ContainsAny(text, "\u200b") && len(inside) != len(text) && !strings.Contains(inside, "&lt;") {
			t.Fatalf("%q became %q", text, inside)
		}
	})
}

// The readers give pieces of anything, and the right ones of JSON.
func FuzzPieces(f *testing.F) {
	for _, seed := range []string{`{"messages":[1,"a",{"b":[2]}]}`, ` [ 1 , "\"]" , {} ]`, `{"a":1,"a":2}`, `[,]`, `[1 2]`, `{"a"`, `"\`, `[}`, `{"a":}`, `]`, `[[[`, `{"\u0061":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		value, found := find(text, "a")
		var pieces []string
		body := trimmed(text)
		for at := range elements(body) {
			pieces = append(pieces, string(at.of(body)))
		}
		if !json.Valid(text) {
			return
		}
		var list []json.RawMessage
		if json.Unmarshal(text, &list) == nil && list != nil {
			if len(list) != len(pieces) {
				t.Fatalf("%q: %q", text, pieces)
			}
			for i, element := range list {
				if string(element) != pieces[i] {
					t.Fatalf("%q: %q", text, pieces)
				}
			}
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(text, &object) == nil && found {
			if string(object["a"]) != string(value.of(text)) {
				t.Fatalf("%q: %q", text, value.of(text))
			}
		}
	})
}

func TestQuantiles(t *testing.T) {
	var h histogram
	if h.quantile(50) != 0 {
		t.Error("no times have a median")
	}
	for range 98 {
		h.add(50 * time.Microsecond)
	}
	h.add(3 * time.Millisecond)
	h.add(time.Hour)
	for percent, want := range map[int]time.Duration{50: 50 * time.Microsecond, 98: 50 * time.Microsecond, 99: 3 * time.Millisecond} {
		if got := h.quantile(percent); got < want || got > want+want/4 {
			t.Errorf("p%d is %s, want %s", percent, got, want)
		}
	}
	for d := time.Duration(0); d < time.Minute; d = d*9/8 + time.Microsecond {
		if got := upper(bucket(d)); got <= d-time.Microsecond || got > d+d/7+2*time.Microsecond {
			t.Errorf("%s is in the bucket up to %s", d, got)
		}
	}
	if h.add(-time.Second); h.buckets[0] != 1 {
		t.Error("a clock that ran back is not counted")
	}
}

func TestQuoted(t *testing.T) {
	for _, text := range []string{"", "op-1", `"\`, "é<>&\u2028", "a\nb", "\x00", "\xff"} {
		var back string
		if err := json.Unmarshal(appendQuoted(nil, text), &back); err != nil || back != strings.ToValidUTF8(text, "\uFFFD") {
			t.Errorf("%q: %s, %v", text, appendQuoted(nil, text), err)
		}
	}
	if got := string(appendQuoted(nil, "é<>&")); got != `"é<>&"` {
		t.Error(got)
	}
}

func TestWhatAModelReadsOfARecordThatCannotBeWrittenHasNoPlaceOfThisMachine(t *testing.T) {
	fault := &host.Error{Kind: host.Unrecorded, Extension: "guard", Code: "unavailable", Msg: "not called: write /home/ada/run.rec: no space left on device"}
	reply := (&member{name: "guard"}).unjudged(fault, false, time.Second).Reply()
	if strings.Contains(reply, "/home") || !strings.Contains(reply, "the record of this session cannot be written") || !strings.Contains(reply, "make room") {
		t.Errorf("%q", reply)
	}
}
