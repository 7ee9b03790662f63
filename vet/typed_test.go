package vet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomext/loomext/jail"
)

// The Uses of a Package that passed both halves are those of objects, wherever they are named.
func TestTypedCountsUsesByObject(t *testing.T) {
	lib := library(t)
	p := passed(t, map[string]string{
		"extension.toml": strings.Replace(base["extension.toml"], "[[tool]]", "requests = [\"fs_read\", \"net\"]\n[net]\nhosts = [\"example.com\"]\nmethods = [\"GET\"]\n\n[[tool]]", 1),
		"lib/lib.go": `package lib

import (
	"context"

	"github.com/loomext/loomext/prelude/cap/fs"
	"github.com/loomext/loomext/prelude/cap/net"
)

var fetch = net.Fetch

func F(ctx context.Context) {
	_, _ = (fs.Read)(ctx, "x")
	_, _ = fetch(ctx, "https://example.com")
	var r net.Response
	_ = r.Status
}
`,
	})
	if p.Typed() {
		t.Error("a package that passed one half says both")
	}
	typed, err := Typed(t.Context(), p, lib, jail.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !typed.Typed() || typed.Jail().Level == "" {
		t.Errorf("typed: %v, at level %q", typed.Typed(), typed.Jail().Level)
	}
	var got []string
	for _, u := range typed.Uses() {
		got = append(got, u.Capability+" "+u.Symbol)
	}
	if want := "fs_read fs.Read, net net.Fetch, net net.Response"; strings.Join(got, ", ") != want {
		t.Errorf("uses are %s, want %s", strings.Join(got, ", "), want)
	}
}

// bomb is a source that only a bound ends.
func bomb(t testing.TB) Package {
	t.Helper()
	dir := t.TempDir() + "/fixture"
	readFixture(t, "../testdata/hostile/typed_inferred_doubling.txtar").write(t, dir)
	return pass(t, dir)
}

func TestTypedEndsAtItsBounds(t *testing.T) {
	lib, p := library(t), bomb(t)
	for what, l := range map[string]limits{
		"1s of processor time": {time.Second, time.Minute},
		"300ms of time":        {time.Minute, 300 * time.Millisecond},
		"512 MiB of memory":    {time.Minute, time.Minute},
	} {
		start := time.Now()
		_, err := typed(t.Context(), p, lib, jail.Options{}, l)
		var found Findings
		if !errors.As(err, &found) || len(found) != 1 || found[0].Lint != LintBound || found[0].Path != "lib/lib.go" || !strings.Contains(found[0].What, "more than "+what) {
			t.Errorf("%s: %v", what, err)
		}
		t.Logf("%s: %s", what, time.Since(start))
	}
}

// TestTypedSaysWhatTookTooMuch holds that a bound which is met after the last package is not said of that package.
func TestTypedSaysWhatTookTooMuch(t *testing.T) {
	p := passed(t, nil)
	var begun []string
	check(p.question(library(t)), func(dir string) { begun = append(begun, dir) })
	if got := strings.Join(begun, " "); got != "tool "+following {
		t.Errorf("it began with %s", got)
	}
	at, r, err := p.understand([]byte(`{"at":"tool"}{"at":"` + following + `"}`))
	if f := p.tooMuch(at, "a second"); r != nil || err == nil || f.Path != "extension.toml" || !strings.HasPrefix(f.What, "to follow the values") {
		t.Errorf("at %q: %v, %v", at, f, err)
	}
}

// TestTypedSaysTheSameEveryTime is about a place that several variables come to.
func TestTypedSaysTheSameEveryTime(t *testing.T) {
	q := passed(t, map[string]string{"lib/lib.go": `package lib

import (
	"encoding/xml"
	"hash/crc32"
	"image/color"
	"image/color/palette"
	"unicode"
)

func set[T any](s []T, v T) { s[0] = v }

var a any

func Do() {
	a = xml.HTMLEntity
	a = palette.Plan9
	a = palette.WebSafe
	a = unicode.Latin
	a = xml.HTMLAutoClose
	a = crc32.IEEETable
	a = unicode.Greek
	set(a.([]string), "")
	*a.(*unicode.RangeTable) = unicode.RangeTable{}
	clear(a.(color.Palette))
}
`}).question(library(t))
	want := fmt.Sprint(check(q, func(string) {}).Findings)
	if !strings.Contains(want, "(through a, lib/lib.go:13)") {
		t.Error("it does not say how the value came:", want)
	}
	for range 20 {
		if got := fmt.Sprint(check(q, func(string) {}).Findings); got != want {
			t.Fatalf("first\n%s\nthen\n%s", want, got)
		}
	}
}

func TestTypedStopsWithItsContext(t *testing.T) {
	lib, p := library(t), bomb(t)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := Typed(ctx, p, lib, jail.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped with %v", err)
	}
	if _, err := Typed(ctx, p, lib, jail.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("started and stopped with %v", err)
	}
}

// A library that is not what it should be is nobody's finding.
func TestTypedWithoutTheCompiledPackages(t *testing.T) {
	lib := library(t)
	p := passed(t, nil)
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(filepath.Join(dir, "broken"), []byte("!<arch>\nnothing"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]Library{
		"empty":   {Dir: dir, Version: lib.Version},
		"missing": {Dir: dir, Exports: map[string]string{"encoding/json": "gone", extPath: "gone"}, Version: lib.Version},
		"broken":  {Dir: dir, Exports: map[string]string{"encoding/json": "broken", extPath: "broken"}, Version: lib.Version},
	} {
		_, err := Typed(t.Context(), p, l, jail.Options{})
		if err == nil || errors.As(err, new(Findings)) || !strings.Contains(err.Error(), "cannot be read") || !strings.Contains(err.Error(), lib.Version) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a child that was taken over may say.
func TestForeignReplies(t *testing.T) {
	p := passed(t, nil)
	good := `{"reply":{"format":1,"findings":[{"Path":"tool/run.go","Line":1,"Col":1,"Lint":"type","What":"x","Fix":"y"}]}}`
	if _, r, err := p.understand([]byte(`{"at":"tool"}` + good)); err != nil || len(r.Findings) != 1 {
		t.Fatal(r, err)
	}
	for _, text := range []string{
		"", "{", "null", "[]", `{"at":"tool"}`, `{"at":3}`, `{"reply":{}}`, `{"reply":{"format":2}}`, strings.Repeat("[", 1<<16),
		strings.Replace(good, "tool/run.go", "/etc/passwd", 1),
		strings.Replace(good, `"type"`, `"nonsense"`, 1),
		strings.Replace(good, `"Line":1`, `"Line":-1`, 1),
		`{"reply":{"format":1,"uses":[{"Capability":"root","Path":"tool/run.go","Line":1,"Col":1,"Symbol":"x"}]}}`,
		`{"reply":{"format":1,"uses":[{"Capability":"net","Path":"other.go","Line":1,"Col":1,"Symbol":"x"}]}}`,
		`{"reply":{"format":1,"uses":[{"Capability":"net","Path":"tool/run.go","Line":0,"Col":1,"Symbol":"x"}]}}`,
		`{"reply":{"format":1,"uses":[{"Capability":"net","Path":"tool/run.go","Line":1,"Col":1,"Symbol":"\u001b[2J"}]}}`,
	} {
		if _, r, err := p.understand([]byte(text)); err == nil {
			t.Errorf("%.80q is understood as %+v", text, r)
		}
	}
}

// FuzzReply holds that any bytes of the child are an error or a reply about this source.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"at":"tool"}{"reply":{"format":1,"findings":[{"Path":"tool/run.go","Line":1,"Col":1,"Lint":"type","What":"x","Fix":"y"}]}}`))
	f.Add([]byte(`{"reply":{"format":1,"uses":[{"Capability":"net","Path":"tool/run.go","Line":1,"Col":1,"Symbol":"net.Fetch"}]}}`))
	p := passed(f, nil)
	f.Fuzz(func(t *testing.T, text []byte) {
		_, r, err := p.understand(text)
		if err != nil {
			return
		}
		for _, one := range r.Findings {
			if _, ok := p.Tree().File(one.Path); !ok || one.Line < 0 || one.Col < 0 {
				t.Errorf("%+v", one)
			}
		}
		for _, u := range r.Uses {
			if _, ok := p.Tree().File(u.Path); !ok || u.Line < 1 || plain(u.Symbol) != u.Symbol {
				t.Errorf("%+v", u)
			}
		}
	})
}

// FuzzQuestion holds that any bytes end the child's reading in an error or in a question.
func FuzzQuestion(f *testing.F) {
	text, err := json.Marshal(passed(f, nil).question(Library{}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		_, writeErr := file.Write(text)
		_, seekErr := file.Seek(0, 0)
		if err := errors.Join(writeErr, seekErr); err != nil {
			t.Fatal(err)
		}
		if q, err := readQuestion(file); err == nil && q.Format != replyFormat {
			t.Errorf("read %+v", q)
		}
	})
}

func TestSpeechIsBounded(t *testing.T) {
	var s speech
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 2 * maxReply / len(chunk) {
		if n, err := s.Write(chunk); n != len(chunk) || err != nil {
			t.Fatal(n, err)
		}
	}
	if s.text.Len() > maxReply || !s.over {
		t.Errorf("%d bytes kept, over: %v", s.text.Len(), s.over)
	}
}
