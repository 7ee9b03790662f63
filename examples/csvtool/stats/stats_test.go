package stats

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/ext"
)

// run calls the tool as a host does.
func run(t *testing.T, args map[string]any) (string, error) {
	t.Helper()
	host := captest.New(t)
	host.Config(map[string]any{"max_rows": 1000, "max_faults": 5, "top": 3})
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Run(host.Ctx(), raw)
	if err != nil {
		return "", err
	}
	block, ok := out.Content[0].(ext.JSONContent)
	if !ok {
		t.Fatalf("the answer is no JSON: %v", out)
	}
	return string(block.Value), nil
}

func TestDescribesEveryColumn(t *testing.T) {
	text, err := os.ReadFile("testdata/people.csv")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/people.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(t, map[string]any{"csv": string(text)})
	if err != nil {
		t.Fatal(err)
	}
	if got != strings.TrimSpace(string(want)) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestChoices(t *testing.T) {
	got, err := run(t, map[string]any{"csv": "a;b\n1,5;x\n2,5;y\n", "decimal": ",", "columns": []string{"a"}})
	if err != nil || !strings.Contains(got, `"delimiter":";","columns":[{"name":"a","type":"number"`) || strings.Contains(got, `"name":"b"`) {
		t.Errorf("%s, %v", got, err)
	}
	got, err = run(t, map[string]any{"csv": "1,2\n3,4\n", "header": false})
	if err != nil || !strings.Contains(got, `"rows":2`) || !strings.Contains(got, `"name":"column_2"`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestRefusesInWordsAModelCanUse(t *testing.T) {
	for _, tt := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"csv": "a,b\n1,2\n", "columns": []string{"c"}}, `columns: there is no "c"; the text has "a", "b"`},
		{map[string]any{"csv": "a,b\n1,2\n", "decimal": ","}, `decimal and delimiter are both ","`},
		{map[string]any{"csv": "a\x00b"}, "csv: line 1 has a zero byte"},
		{map[string]any{"csv": "\n"}, "csv: the text has no row"},
		{map[string]any{}, "csv"},
	} {
		if _, err := run(t, tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v; want it to say %q", tt.args, err, tt.want)
		}
	}
}

func TestFaultsAreBounded(t *testing.T) {
	got, err := run(t, map[string]any{"csv": "a,b\n" + strings.Repeat("1\n", 20)})
	if err != nil || strings.Count(got, `"line":`) != 5 || !strings.Contains(got, `"more_faults":15`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestSchemaTakesWhatTheToolDoes(t *testing.T) {
	raw, err := os.ReadFile("../schema/column_stats.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	for name := range schema.Properties {
		if !strings.Contains("csv delimiter header decimal columns", name) {
			t.Errorf("the schema has %s, and the tool has not", name)
		}
	}
	if len(schema.Properties) != 5 {
		t.Errorf("the schema has %d properties", len(schema.Properties))
	}
}
