package count_test

import (
	"encoding/json"
	"testing"

	"github.com/loomext/loomext/prelude/cap/captest"

	"example.com/todofix/count"
)

func TestCount(t *testing.T) {
	for name, test := range map[string]struct {
		exit           int
		stdout, stderr string
		want           string
	}{
		"some":  {0, "2\n", "", `{"file":"a.go","lines":2}`},
		"none":  {1, "0\n", "", `{"file":"a.go","lines":0}`},
		"fault": {2, "", "grep: a.go: No such file or directory\n", "grep: grep: a.go: No such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			host := captest.New(t)
			host.Handle("proc.run", func(captest.Call) (captest.Value, error) {
				return captest.Exited(test.exit, test.stdout, test.stderr), nil
			})
			outcome, err := count.Run(host.Ctx(), json.RawMessage(`{"file": "a.go"}`))
			got := ""
			if err != nil {
				got = err.Error()
			} else if text, err := json.Marshal(outcome.Content); err == nil {
				got = string(text)
			}
			if err == nil {
				test.want = `[{"Value":` + test.want + `}]`
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
