package shell

import (
	"fmt"
	"strings"
	"testing"
)

// programs is a line's programs with their words, in order.
func programs(line string) string {
	runs, whole := Runs(line)
	var parts []string
	for _, run := range runs {
		words := append([]string{run.Program}, texts(run.Args)...)
		for _, w := range run.Writes {
			words = append(words, ">"+w.Text)
		}
		parts = append(parts, strings.Join(words, " "))
	}
	text := strings.Join(parts, " | ")
	if !whole {
		text += " …"
	}
	return text
}

func TestPrograms(t *testing.T) {
	for line, want := range map[string]string{
		`a b "c d" 'e f' g\ h`:        `a b c d e f g h`,
		`a"b"'c'`:                     `abc`,
		"a \\\n b":                    `a b`,
		`a; b && c || d & e | f`:      `a | b | c | d | e | f`,
		"a # b\nc":                    `a | c`,
		`a#b`:                         `a#b`,
		`A=1 B="x y" a`:               `a`,
		`a > f 2>&1 >> g 2> h`:        `a >f >1 >g >h`,
		`a &> f`:                      `a >f`,
		`> f`:                         ` >f`,
		`a $(b c) d`:                  `b c | a  d`,
		"a `b`":                       `b | a `,
		`a "x$(b "y z")"`:             `b y z | a x`,
		`a <(b)`:                      `b | a /dev/fd/63`,
		"a <<E\nb\nE\nc":              `a | c`,
		"a <<'E' | d\nb\nE\nc":        `a | d | c`,
		"a <<-E\n\tb\n\tE\nc":         `a | c`,
		`(a; b)`:                      `a | b`,
		`{ a; }`:                      `a`,
		`if a; then b; else c; fi`:    `a | b | c`,
		`while a; do b; done`:         `a | b`,
		`f() { a; }; f`:               `a | f`,
		`sudo -u me a -b`:             `sudo -u me a -b | a -b`,
		`env -i X=1 a b`:              `env -i X=1 a b | a b`,
		`timeout -s KILL 5 a`:         `timeout -s KILL 5 a | a`,
		`nice -n 5 nohup a`:           `nice -n 5 nohup a | nohup a | a`,
		`sh -c "a 'b c'"`:             `sh -c a 'b c' | a b c`,
		`bash -ec 'a; b'`:             `bash -ec a; b | a | b`,
		`bash -o pipefail -c a`:       `bash -o pipefail -c a | a`,
		`bash x.sh -c y`:              `bash x.sh -c y`,
		`echo 'a b' | sh`:             `echo a b | sh | a b`,
		`find . -exec a {} \;`:        `find . -exec a {} ; | a {}`,
		`$'\x61\142' $'c\nd'`:         "ab c\nd",
		`$X a`:                        ` a`,
		`/usr/bin/a`:                  `a`,
		`"unclosed; a`:                `unclosed; a`,
		strings.Repeat("(", 20) + "a": ` …`,
	} {
		if got := programs(line); strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%q:\n got %q\nwant %q", line, got, want)
		}
	}
}

func TestWhatAWordIs(t *testing.T) {
	for line, want := range map[string]string{
		`a ~/x`: "~/x home", `a "~/x"`: "~/x", `a \~`: "~", `a $X/y`: "$X/y expands", `a '$X'`: "$X", `a "${X:-y}z"`: "$Xz expands",
		`a "${X:?no}/"`: "${X:?}/ expands", `a *.o`: "*.o expands", `a '*.o'`: "*.o", `a "$@"`: "$@ expands", `a $`: "$",
	} {
		commands, _ := Parse(line)
		w := commands[0].Words[1]
		got := w.Text
		if w.Home {
			got += " home"
		}
		if w.Expands {
			got += " expands"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestFromIsThePipe(t *testing.T) {
	for line, want := range map[string]string{
		`a | b | c`: "[a b]", `a; c`: "[]", `a | b; c`: "[]", `c "$(a | b)"`: "[a b]", `a || c`: "[]", `sudo a | env X=1 c`: "[a]", `c < <(a)`: "[a]",
	} {
		runs, _ := Runs(line)
		last := runs[len(runs)-1]
		if last.Program != "c" || fmt.Sprint(last.From) != want {
			t.Errorf("%q: %s from %v, want %s", line, last.Program, last.From, want)
		}
	}
}

func TestRootIsKnown(t *testing.T) {
	for line, want := range map[string]bool{`a`: false, `sudo a`: true, `sudo env a`: true, `su -c a`: true, `sudo sh -c 'a'`: true, `a | sudo b; a`: false} {
		runs, _ := Runs(line)
		if last := runs[len(runs)-1]; last.Program != "a" || last.Root != want {
			t.Errorf("%q: %+v", line, last)
		}
	}
}

func TestACommandWithoutEnd(t *testing.T) {
	if runs, whole := Runs(strings.Repeat("a;", MaxCommands+10)); whole || len(runs) > MaxCommands+1 {
		t.Errorf("%d runs, whole %v", len(runs), whole)
	}
}
