package gen

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var sample = Declaration{
	Name: "web", Version: "1.2.3", Revision: "sha256:00", Tools: []string{"a", "b"}, Hooks: []string{}, Config: json.RawMessage(`{"k":"<&>é"}`),
}

func text(t testing.TB, d Declaration) string {
	t.Helper()
	s, err := d.text()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDeclarationIsFoundWhereverItStands(t *testing.T) {
	whole := text(t, sample)
	// The interesting places are around the end of a window, where a head is cut in two.
	var before []int
	for around := range 2 * headLen {
		before = append(before, around, window-headLen+around, 2*window-2*headLen+around)
	}
	for _, n := range before {
		for _, after := range []int{0, 1, window} {
			file := strings.Repeat("l", n) + whole + strings.Repeat("o", after)
			got, err := read(t, file)
			if err != nil || !got.Equal(sample) {
				t.Fatalf("%d bytes before it and %d after: %v, %v", n, after, got, err)
			}
		}
	}
}

func TestFilesThatDeclareNoOneThing(t *testing.T) {
	whole := text(t, sample)
	other := sample
	other.Name = "decoy"
	length := func(n int) string { return fmt.Sprintf("%s%08x ", magic, n) }
	body := whole[headLen : len(whole)-1]
	reordered := `{"version":"1.2.3","name":"web","revision":"sha256:00","tools":["a","b"],"hooks":[],"config":{}}`
	extra := strings.TrimSuffix(body, "}") + `,"x":1}`
	tests := []struct {
		name, file string
		want       error
	}{
		{"empty", "", ErrNoDeclaration},
		{"other bytes", strings.Repeat("\x7fELF", 1000), ErrNoDeclaration},
		{"the magic word alone", magic, ErrNoDeclaration},
		{"the magic word as the reader in a satellite holds it", magic + "has no length of", ErrNoDeclaration},
		{"upper-case length", strings.Replace(whole, whole[len(magic):headLen], "0000ABCD ", 1), ErrNoDeclaration},
		{"two alike", whole + whole, ErrTwoDeclarations},
		{"a decoy before", text(t, other) + strings.Repeat("x", 10) + whole, ErrTwoDeclarations},
		{"a decoy after, a window away", whole + strings.Repeat("x", window) + text(t, other), ErrTwoDeclarations},
		{"a decoy that is no JSON before", length(3) + "abc\n" + whole, ErrCorruptDeclaration},
		{"a decoy that is no JSON after", whole + length(3) + "abc\n", ErrCorruptDeclaration},
		{"a decoy that claims to hold ours", length(len(whole)+2) + "  " + whole + "\n", ErrCorruptDeclaration},
		{"cut short", whole[:len(whole)-1], ErrCorruptDeclaration},
		{"a length beyond the bound", fmt.Sprintf("%sffffffff ", magic) + body, ErrCorruptDeclaration},
		{"a length that is too small", length(len(body)-1) + body + "\n", ErrCorruptDeclaration},
		{"another order of keys", length(len(reordered)) + reordered + "\n", ErrCorruptDeclaration},
		{"a key too many", length(len(extra)) + extra + "\n", ErrCorruptDeclaration},
		{"null", length(4) + "null\n", ErrCorruptDeclaration},
		{"no lists", length(2) + "{}\n", ErrCorruptDeclaration},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d, err := read(t, tt.file); !errors.Is(err, tt.want) {
				t.Errorf("read as %+v, %v; want %v", d, err, tt.want)
			}
		})
	}
}

func TestMagicWordInsideTheConfigurationIsData(t *testing.T) {
	d := sample
	inner, err := json.Marshal(text(t, sample))
	if err != nil {
		t.Fatal(err)
	}
	d.Config = json.RawMessage(`{"decoy":` + string(inner) + `}`)
	if got, err := read(t, text(t, d)); err != nil || !got.Equal(d) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDeclarationThatIsTooLongIsNotRendered(t *testing.T) {
	d := sample
	d.Config = json.RawMessage(`{"k":"` + strings.Repeat("x", maxDeclaration) + `"}`)
	if _, err := d.text(); err == nil {
		t.Error("a declaration beyond the bound was rendered; nothing could read it")
	}
	d.Config = json.RawMessage(`{"k":"` + strings.Repeat("x", maxDeclaration-300) + `"}`)
	if got, err := read(t, text(t, d)); err != nil || !got.Equal(d) {
		t.Errorf("a declaration below the bound: %v", err)
	}
}

func TestDifferenceNamesTheField(t *testing.T) {
	if got := sample.Difference(sample); got != "" {
		t.Errorf("a declaration differs from itself: %s", got)
	}
	for field, change := range map[string]func(*Declaration){
		"name": func(d *Declaration) { d.Name = "x" }, "version": func(d *Declaration) { d.Version = "x" },
		"revision": func(d *Declaration) { d.Revision = "x" }, "tools": func(d *Declaration) { d.Tools = []string{"a"} },
		"hooks": func(d *Declaration) { d.Hooks = []string{"usage"} }, "config": func(d *Declaration) { d.Config = json.RawMessage(`{}`) },
	} {
		other := sample
		change(&other)
		if got := other.Difference(sample); !strings.HasPrefix(got, field+" is ") || other.Equal(sample) {
			t.Errorf("a changed %s gives %q", field, got)
		}
	}
}

func TestAnyDeclarationReadsBackEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.String()).Draw(t, "config"))
		if err != nil {
			t.Fatal(err)
		}
		names := rapid.SliceOf(rapid.StringMatching(`[a-z][a-z0-9_]{0,20}`))
		d := Declaration{
			Name: rapid.String().Draw(t, "name"), Version: rapid.String().Draw(t, "version"), Revision: rapid.String().Draw(t, "revision"),
			Tools: append([]string{}, names.Draw(t, "tools")...), Hooks: append([]string{}, names.Draw(t, "hooks")...), Config: config,
		}
		whole, err := d.text()
		if err != nil {
			t.Fatal(err)
		}
		noise := rapid.StringOfN(rapid.RuneFrom([]rune(magic+"\n0f")), 0, 200, -1)
		before, after := noise.Draw(t, "before"), noise.Draw(t, "after")
		file := before + whole + after
		got, err := ReadDeclaration(strings.NewReader(file), int64(len(file)))
		if strings.Contains(before+after, magic) {
			return
		}
		if err != nil || !got.Equal(d) {
			t.Fatalf("%+v was read as %+v, %v", d, got, err)
		}
	})
}

func FuzzReadDeclaration(f *testing.F) {
	f.Add([]byte(text(f, sample)))
	f.Add([]byte(magic + "00000000 \n"))
	f.Add([]byte(text(f, sample) + magic + "ffffffff {}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := read(t, string(file))
		if err != nil {
			return
		}
		if !strings.Contains(string(file), text(t, d)) {
			t.Errorf("%+v was read from a file that does not hold it", d)
		}
	})
}
