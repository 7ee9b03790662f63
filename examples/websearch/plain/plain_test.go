package plain

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for piece, want := range map[string]string{
		``:             ``,
		`plain`:        `plain`,
		"  a \n\t b  ": `a b`,
		`The <strong>Go</strong> <em>gopher</em>`:       `The Go gopher`,
		`un<b>believ</b>able`:                           `unbelievable`,
		`one<br>two<br/>three<p class="x">four</p>`:     `one two three four`,
		`<UL><LI>a</LI><LI>b</LI></UL>`:                 `a b`,
		`<a href="x>y" title='a > b'>link</a>`:          `link`,
		`it's <b class=x's>apart</b>`:                   `it's apart`,
		`5 < 6 and 7 > 6`:                               `5 < 6 and 7 > 6`,
		`a<5 b<c`:                                       `a<5 b<c`,
		`ends in <strong`:                               `ends in <strong`,
		`a<!-- <b>no</b> -->b`:                          `a b`,
		`a<!DOCTYPE html><?xml version="1.0"?>b`:        `a b`,
		`a<script>alert("<b>")</script>b`:               `a b`,
		`a<STYLE>p</b>{}</Style >b`:                     `a b`,
		`a<script>alert(1)`:                             `a`,
		`a<custom-element>b</custom-element>`:           `a b`,
		`Tom &amp; Jerry &#x27;quoted&#39; caf&eacute;`: `Tom & Jerry 'quoted' café`,
		`the &lt;b&gt; element`:                         `the <b> element`,
		`&amp;lt;b&amp;gt;`:                             `&lt;b&gt;`,
		"a\u00a0b\u2003c":                               `a b c`,
		"a&nbsp;&nbsp;b":                                `a b`,
		"bell\a esc\x1b[31m rtl\u202e zwj\u200b tag\U000e0041 bom\ufeff": `bell esc[31m rtl zwj tag bom`,
		"a&#x202e;b&#7;c&#27;d": `abcd`,
		"bad \xff utf-8":        "bad \uFFFD utf-8",
	} {
		if got := Text(piece, 100); got != want {
			t.Errorf("%q: %q, want %q", piece, got, want)
		}
	}
}

func TestTextIsBounded(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
	}{
		{"four", 4, "four"},
		{"fives", 4, "fiv…"},
		{"éèêëà", 4, "éèê…"},
		{"a sentence that ends, here", 22, "a sentence that ends…"},
		{"a", 0, "…"},
		{strings.Repeat("<a ", maxPiece), 5, "<a <…"},
	} {
		if got := Text(tt.text, tt.limit); got != tt.want {
			t.Errorf("%.100q in %d: %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"<b>x</b>", "<a href='", "<script></", "&#x", "<!-- -->", "<<<>>>", "</script"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, piece string) {
		text := Text(piece, 50)
		if !utf8.ValidString(text) || utf8.RuneCountInString(text) > 50 || strings.ContainsAny(text, "\n\r\t\x1b\x00") || text != strings.TrimSpace(text) {
			t.Errorf("%q gives %q", piece, text)
		}
	})
}
