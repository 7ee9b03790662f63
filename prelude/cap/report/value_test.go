package report_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/loomext/loomext/prelude/cap/report"
)

func TestReadersCoerceNothing(t *testing.T) {
	values := map[string]report.Value{
		"nil": report.Nil(), "a bool": report.Bool(false), "an int": report.Int(0), "a float": report.Float(0),
		"a string": report.String(""), "bytes": report.Bytes(nil), "a list": report.List(), "a map": report.Map(),
	}
	readers := map[string]func(report.Value, string) error{
		"a bool":   func(v report.Value, f string) error { _, err := report.BoolAt(v, f); return err },
		"an int":   func(v report.Value, f string) error { _, err := report.IntAt(v, f); return err },
		"a float":  func(v report.Value, f string) error { _, err := report.FloatAt(v, f); return err },
		"a string": func(v report.Value, f string) error { _, err := report.StringAt(v, f); return err },
		"bytes":    func(v report.Value, f string) error { _, err := report.BytesAt(v, f); return err },
		"a list":   func(v report.Value, f string) error { _, err := report.ListAt(v, f); return err },
		"a map":    func(v report.Value, f string) error { _, err := report.StringsAt(v, f); return err },
	}
	for want, read := range readers {
		for have, v := range values {
			err := read(report.Map(report.Field{Key: "x", Value: v}), "x")
			var e *report.ShapeError
			if have == want {
				if err != nil {
					t.Errorf("%s read as itself: %v", have, err)
				}
			} else if !errors.As(err, &e) || *e != (report.ShapeError{Field: "x", Want: want, Have: have}) {
				t.Errorf("%s read as %s: %v", have, want, err)
			}
			if have != "a map" {
				if err := read(v, "x"); err == nil || err.Error() != fmt.Sprintf("the value is %s; want a map with x", have) {
					t.Errorf("%s without a map around it: %v", have, err)
				}
			}
		}
		if err := read(report.Map(), "x"); err == nil || err.Error() != "x is missing; want "+want {
			t.Errorf("missing: %v", err)
		}
	}
}

func TestAMapOfTextNamesTheEntryThatIsNone(t *testing.T) {
	v := report.Map(report.Field{Key: "headers", Value: report.Map(
		report.Field{Key: "a", Value: report.String("b")}, report.Field{Key: "c\n", Value: report.Int(1)})})
	_, err := report.StringsAt(v, "headers")
	if err == nil || err.Error() != `headers["c\n"] is an int; want a string` {
		t.Errorf("got %v", err)
	}
}

func TestWithinPrefixesShapeErrorsOnly(t *testing.T) {
	err := report.Within("list[3]", &report.ShapeError{Field: "name", Want: "a string", Have: "nil"})
	if err.Error() != "list[3].name is nil; want a string" {
		t.Errorf("got %v", err)
	}
	other := errors.New("other")
	if report.Within("list[3]", other) != other {
		t.Error("another error was changed")
	}
}
