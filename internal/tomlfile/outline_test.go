package tomlfile

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// places lists every key and array item of a node with its line.
func places(n Node, path string, into map[string]int) {
	into[path] = n.Line
	switch v := n.Value.(type) {
	case Table:
		for key, item := range v {
			places(item, path+"/"+key, into)
		}
	case List:
		for i, item := range v {
			places(item, path+"/"+strconv.Itoa(i), into)
		}
	}
}

func TestLines(t *testing.T) {
	tests := map[string]struct {
		text string
		want map[string]int
	}{
		"keys after comments and blank lines": {
			"# a = 1\n\na = 1 # b = 2\n\n  b = 2\n",
			map[string]int{"/a": 3, "/b": 5},
		},
		"arrays of tables": {
			"[[t]]\na = 1\n[[t]]\na = 2\n[t.u]\nb = 1\n[[t.v]]\n[[t.v]]\nc = 1\n[[t]]\n",
			map[string]int{"/t": 1, "/t/0": 1, "/t/0/a": 2, "/t/1": 3, "/t/1/a": 4, "/t/1/u": 5, "/t/1/u/b": 6,
				"/t/1/v": 7, "/t/1/v/0": 7, "/t/1/v/1": 8, "/t/1/v/1/c": 9, "/t/2": 10},
		},
		"a table opened after its child": {
			"[[n.s]]\nx = 1\n[n]\ny = 1\n",
			map[string]int{"/n": 3, "/n/s": 1, "/n/s/0": 1, "/n/s/0/x": 2, "/n/y": 4},
		},
		"dotted keys": {
			"a.b.c = 1\na.b.\"d e\" = 2\na . f = 3\n[g.\"h.i\".'j']\nk = 1\n",
			map[string]int{"/a": 1, "/a/b": 1, "/a/b/c": 1, "/a/b/d e": 2, "/a/f": 3, "/g": 4, "/g/h.i": 4, "/g/h.i/j": 4, "/g/h.i/j/k": 5},
		},
		"keys in quotes with escapes": {
			"\"\\u0061\" = 1\n'\\u0061' = 2\n\"\\x62\\\"\" = 3\n\"\\U0001F600\\t\" = 4\n\"\" = 5\n",
			map[string]int{"/a": 1, "/\\u0061": 2, "/b\"": 3, "/\U0001F600\t": 4, "/": 5},
		},
		"multi-line strings that look like keys": {
			"a = \"\"\"\nb = 1\n[c]\n\"\"\"\nd = '''\ne = 1\n\\'''\nf = \"\"\"\\\n  \\\"\"\" g = 1\n\"\"\"\"\"\nh = ''''''\ni = \"\"\"\"\"\"\nj = 1\n",
			map[string]int{"/a": 1, "/d": 5, "/f": 8, "/h": 11, "/i": 12, "/j": 13},
		},
		"strings that hold syntax": {
			"a = \"# [x] = { \\\" \"\nb = '# [x] = { \\'\nc = [\"]\", ']', \"\"\"\n]\n\"\"\",\n'''}''']\nd = 1\n",
			map[string]int{"/a": 1, "/b": 2, "/c": 3, "/c/0": 3, "/c/1": 3, "/c/2": 3, "/c/3": 6, "/d": 7},
		},
		"arrays over many lines": {
			"a = [\n  1, # one, [2\n\n  [ 2,\n3 ],\n  # ]\n]\nb = [ ]\n",
			map[string]int{"/a": 1, "/a/0": 2, "/a/1": 4, "/a/1/0": 4, "/a/1/1": 5, "/b": 8},
		},
		"inline tables": {
			"a = { b = 1, c.d = { e = [ { f = 1 },\n { f = 2 } ] } }\ng = {\n h = 1,\n # i = 1\n j = 2,\n}\n",
			map[string]int{"/a": 1, "/a/b": 1, "/a/c": 1, "/a/c/d": 1, "/a/c/d/e": 1, "/a/c/d/e/0": 1, "/a/c/d/e/0/f": 1,
				"/a/c/d/e/1": 2, "/a/c/d/e/1/f": 2, "/g": 3, "/g/h": 4, "/g/j": 6},
		},
		"dates, numbers and words": {
			"a = 1979-05-27 07:32:00Z\nb = 1_000\nc = -inf\nd = true\ne = 0x1F\nf = 07:32:00.5\ng = +1.5e-3\n",
			map[string]int{"/a": 1, "/b": 2, "/c": 3, "/d": 4, "/e": 5, "/f": 6, "/g": 7},
		},
		"other line ends and a byte order mark": {
			"\ufeffa = 1\r\n\r\n[b]\r\nc = '''\r\nx\r\n'''\r\nd = 1",
			map[string]int{"/a": 1, "/b": 3, "/b/c": 4, "/b/d": 7},
		},
		"nothing": {"", map[string]int{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root, r, ok := plain.Parse([]byte(test.text))
			if !ok {
				t.Fatal(r.Faults())
			}
			got := map[string]int{}
			places(Node{Value: root}, "", got)
			delete(got, "")
			if !maps.Equal(got, test.want) {
				for _, key := range slices.Sorted(maps.Keys(got)) {
					t.Logf("%q: %d", key, got[key])
				}
				t.Errorf("got %v\nwant %v", got, test.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := map[string]struct {
		text string
		line int
		says string
	}{
		"deep arrays":              {"a = 1\nb = " + strings.Repeat("[", 100_000), 2, "nest"},
		"deep inline tables":       {"a = " + strings.Repeat("{a=", 50_000), 1, "nest"},
		"deep headers":             {"\n" + strings.Repeat("[", 200_000), 2, "not TOML"},
		"long dotted keys":         {"x = 1\n" + strings.Repeat("a.", 100_000) + "a = 1", 2, "dotted"},
		"long dotted headers":      {"[" + strings.Repeat("a.", 100_000) + "a]", 1, "dotted"},
		"long keys in an array":    {"a = [1,\n{" + strings.Repeat("a.", 100_000) + "a = 1}]", 2, "dotted"},
		"a long key":               {"a = 1\n" + strings.Repeat("k", 100_000) + " = 1", 2, "the bound is 128"},
		"a long key in quotes":     {"[\"" + strings.Repeat("k", 100_000) + "\"]", 1, "the bound is 128"},
		"many keys":                {strings.Repeat("[[a]]\n", MaxValues+1), MaxValues, "more than"},
		"many values":              {"a = [" + strings.Repeat("1,", MaxValues+1) + "]", 1, "more than"},
		"a large file":             {strings.Repeat("#", plain.MaxBytes+1), 1, "bound"},
		"another encoding":         {"a = 1\nb = \"\xff\"\n", 2, "UTF-8"},
		"UTF-16":                   {"\xff\xfea\x00", 1, "UTF-8"},
		"a zero byte":              {"a = 1\n\x00", 2, "not TOML"},
		"an open string":           {"a = 1\nb = \"x\nc = 1\n", 2, "not TOML"},
		"an open multi-line":       {"a = 1\nb = \"\"\"x\nc = 1\n", 3, "not TOML"},
		"an open array":            {"a = [1,\n2\nb = 1\n", 3, "not TOML"},
		"an open inline table":     {"a = {b = 1\nc = 1\n", 2, "not TOML"},
		"a missing value":          {"a = 1\nb =\nc = 1\n", 2, "not TOML"},
		"a missing key":            {"a = 1\n= 2\n", 2, "not TOML"},
		"a missing equals sign":    {"a = 1\nb\n", 2, "not TOML"},
		"a word for a value":       {"a = 1\nb = yes\n", 2, "not TOML"},
		"two on a line":            {"a = 1\nb = 2 c = 3\n", 2, "not TOML"},
		"an integer too large":     {"a = 1\nb = 99999999999999999999\n", 2, "not TOML"},
		"a date that is none":      {"a = 1\nb = 2024-13-01\n", 2, "not TOML"},
		"an escape that is none":   {"a = 1\nb = \"\\q\"\n", 2, "not TOML"},
		"a surrogate":              {"a = 1\nb = \"\\ud800\"\n", 2, "not TOML"},
		"a bare carriage return":   {"a = 1\nb = 2\rc = 3\n", 2, "not TOML"},
		"a header after a value":   {"a = 1\nb = 2 [c]\n", 2, "not TOML"},
		"a header left open":       {"a = 1\n[b\nc = 1\n", 2, "not TOML"},
		"a value twice":            {"a = 1\n\na = 2\n", 3, "already on line 1"},
		"a table twice":            {"[a]\n\n[a]\n", 3, "already on line 1"},
		"a table in place of more": {"[[a]]\n[a]\n", 2, "another kind"},
		"more in place of a table": {"[a]\n[[a]]\n", 2, "another kind"},
		"more in place of a list":  {"a = [{b = 1}]\n[[a]]\n", 2, "another kind"},
		"a table under a value":    {"a = 1\n[a.b]\n", 2, "no table"},
		"a key under a value":      {"a = 1\na.b = 1\n", 2, "no table"},
		"an inline key twice":      {"a = {b = 1,\nb = 2}\n", 2, "already on line 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, r, ok := plain.Parse([]byte(test.text))
			faults := r.Faults()
			if ok || len(faults) == 0 {
				t.Fatal("it was taken")
			}
			if f := faults[0]; f.Line != test.line || !strings.Contains(f.Error(), test.says) {
				t.Errorf("got %v, want line %d to say %q", f, test.line, test.says)
			}
		})
	}
}
