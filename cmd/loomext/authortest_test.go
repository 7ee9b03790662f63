package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFlagsOfGoTest(t *testing.T) {
	for _, tt := range []struct {
		args    string
		want    string
		timeout time.Duration
		refused string
	}{
		{"", "", 0, ""},
		{"-v -run X", "-v -run=X", 0, ""},
		{"--run=X --count 2 -short=false", "-run=X -count=2 -short=false", 0, ""},
		{"-timeout 30s -v", "-v", 30 * time.Second, ""},
		{"-race", "", 0, "needs cgo"},
		{"-run", "", 0, "lacks its value"},
		{"-exec=x", "", 0, "is no flag"},
		{"-args", "", 0, "is no flag"},
		{"x", "", 0, "is no flag; test runs every package"},
		{"-timeout 0", "", 0, "at most 10m0s"},
		{"-coverprofile=x", "", 0, "keeps no file"},
		{"-", "", 0, "is no flag"},
	} {
		flags, timeout, err := testFlags(strings.Fields(tt.args))
		if tt.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%q: %v, want %q", tt.args, err, tt.refused)
			}
			continue
		}
		if err != nil || strings.Join(flags, " ") != tt.want || timeout != tt.timeout {
			t.Errorf("%q: %q, %s, %v", tt.args, flags, timeout, err)
		}
	}
}

func TestASummaryIsBoundedAndTakesAnyLine(t *testing.T) {
	s := &testSummary{packages: map[string]*testPackage{}}
	out := &testOutput{line: s.event}
	long, err := json.Marshal(strings.Repeat("x", 1<<16))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`{"Action":"output","Package":"p","Test":"A","Output":` + string(long) + `}`, `{"Action":"output","Package":"p","Test":"A","Output":` + string(long) + `}`,
		`{"Action":"fail","Package":"p","Test":"A"}`, `{"Action":"output","Package":"p","Test":"B","Output":"gone"}`, `{"Action":"pass","Package":"p","Test":"B"}`,
		`no event`, `{"Action":7}`, `[]`, ``, `{"Action":"skip","Package":"p","Test":"C"}`, `{"Action":"fail","Package":"p","Elapsed":1.5}`,
		`{"Action":"build-output","ImportPath":"q","Output":"wrong"}`, `{"Action":"fail","Package":"q","FailedBuild":"q"}`,
	} {
		if _, err := out.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	p, q := s.packages["p"], s.packages["q"]
	if p.Passed != 1 || p.Failed != 1 || p.Skipped != 1 || p.Result != "fail" || p.TookMS != 1500 || len(p.Failures) != 1 || len(p.Failures[0].Output) != maxTestOutput {
		t.Errorf("%+v", p)
	}
	if q.Result != "build" || s.build.String() != "wrong" {
		t.Errorf("%+v, %q", q, s.build.String())
	}
}

func TestALineIsHandedOnWhole(t *testing.T) {
	var lines []string
	out := &testOutput{line: func(line string) error { lines = append(lines, line); return nil }}
	for _, part := range []string{"a", "b\nc", "", "\n\nd", "FAIL\tp [build failed]\n"} {
		if n, err := out.Write([]byte(part)); err != nil || n != len(part) {
			t.Fatal(n, err)
		}
	}
	if _, err := out.Write([]byte(strings.Repeat("x", longestLine+1))); err != nil {
		t.Fatal(err)
	}
	if err := out.flush(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"ab\n", "c\n", "\n", "dFAIL\tp [build failed]\n"}; !slices.Equal(lines[:4], want) || out.buildFailed || len(lines) != 6 || len(lines[4]) != longestLine {
		t.Errorf("%.20q, %v", lines, out.buildFailed)
	}
}
