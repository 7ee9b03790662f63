package manifest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// vector is one file under testdata/vectors; the README there explains it.
type vector struct {
	Comment   string            `json:"comment"`
	Manifest  string            `json:"manifest"`
	Files     map[string]string `json:"files"`
	Canonical string            `json:"canonical"`
	Revision  string            `json:"revision"`
	Approvals []approval        `json:"approvals"`
}

type approval struct {
	Granted     []string          `json:"granted"`
	Fingerprint string            `json:"fingerprint"`
	Set         map[string]string `json:"set"`
	Overrides   string            `json:"overrides"`
	Config      string            `json:"config"`
	Tree        string            `json:"tree"`
	Key         string            `json:"approval_key"`
}

func readVector(t testing.TB, file string) vector {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v vector
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVectors(t *testing.T) {
	files, err := filepath.Glob("testdata/vectors/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			v := readVector(t, file)
			got := compute(t, v)
			if *update {
				raw, err := encodeIndented(got)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, raw, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := encodeIndented(v)
			if err != nil {
				t.Fatal(err)
			}
			have, err := encodeIndented(got)
			if err != nil {
				t.Fatal(err)
			}
			if string(have) != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", have, want)
			}
		})
	}
}

// compute fills in all that follows from a vector's inputs.
func compute(t *testing.T, v vector) vector {
	t.Helper()
	m, err := Decode([]byte(v.Manifest), tree(v.Files))
	if err != nil {
		t.Fatal(err)
	}
	v.Canonical, v.Revision = string(m.Canonical()), m.Revision()
	approvals := make([]approval, len(v.Approvals))
	for i, a := range v.Approvals {
		config, overrides, err := m.Config().Override(a.Set)
		if err != nil {
			t.Fatal(err)
		}
		a.Fingerprint = Fingerprint(m.Revision(), a.Granted)
		a.Overrides, a.Config = string(overrides), string(config.JSON())
		a.Key = ApprovalKey(a.Fingerprint, overrides, a.Tree)
		approvals[i] = a
	}
	v.Approvals = approvals
	return v
}

func encodeIndented(v any) ([]byte, error) {
	raw, err := encodeJSON(v)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Indent(&out, raw, "", "  ")
	out.WriteByte('\n')
	return out.Bytes(), err
}
