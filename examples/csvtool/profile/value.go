// Package profile says what the values of a column are and what they come to.
package profile

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Kind is what one value looks like.
type Kind string

// Kinds, the narrower before the wider.
const (
	Empty    Kind = "empty"
	Integer  Kind = "integer"
	Number   Kind = "number"
	Boolean  Kind = "boolean"
	Date     Kind = "date"
	Datetime Kind = "datetime"
	Text     Kind = "text"
)

// missing are the words that programs write for no value.
var missing = map[string]bool{"": true, "na": true, "n/a": true, "#n/a": true, "null": true, "nil": true, "none": true, "nan": true, "-": true}

var booleans = map[string]bool{"true": true, "false": true, "yes": true, "no": true}

// KindOf judges a value, its spaces gone, and gives its number where it has one. An integer that
// begins with a zero is a code (a postal code, a telephone number) and no number.
func KindOf(value, decimal string) (Kind, float64) {
	folded := strings.ToLower(value)
	switch {
	case missing[folded]:
		return Empty, 0
	case booleans[folded]:
		return Boolean, 0
	}
	if kind, n := number(value, decimal); kind != Text {
		return kind, n
	}
	return moment(value), 0
}

// number takes what looks like a decimal number: digits, one decimal mark, an exponent. Words
// such as Inf, hexadecimal and underscores are text.
func number(value, decimal string) (Kind, float64) {
	digits := strings.TrimLeft(value, "+-")
	if len(value)-len(digits) > 1 || digits == "" || len(digits) > 40 {
		return Text, 0
	}
	if decimal != "." {
		if strings.Contains(value, ".") {
			return Text, 0
		}
		value, digits = strings.Replace(value, decimal, ".", 1), strings.Replace(digits, decimal, ".", 1)
	}
	whole := true
	for i, c := range []byte(digits) {
		switch {
		case c >= '0' && c <= '9':
		case c == '.':
			whole = false
		case (c == 'e' || c == 'E') && i > 0:
			whole = false
		case (c == '+' || c == '-') && i > 0 && (digits[i-1] == 'e' || digits[i-1] == 'E'):
		default:
			return Text, 0
		}
	}
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		return Text, 0
	}
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil || math.IsInf(n, 0):
		return Text, 0
	case whole:
		return Integer, n
	}
	return Number, n
}

// The ways to write a moment that leave no doubt which number is the day.
var (
	dates     = []string{"2006-01-02", "2006/01/02", "02.01.2006", "2 Jan 2006", "Jan 2, 2006"}
	datetimes = []string{
		time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04", "2006-01-02T15:04",
		"2006-01-02 15:04:05.999999999Z07:00", "2006/01/02 15:04:05", "02.01.2006 15:04:05", "02.01.2006 15:04",
	}
)

// moment is Date or Datetime where the value is one, else Text.
func moment(value string) Kind {
	const longest = len("2006-01-02T15:04:05.999999999+00:00")
	if len(value) < 8 || len(value) > longest {
		return Text
	}
	for _, layout := range dates {
		if _, err := time.Parse(layout, value); err == nil {
			return Date
		}
	}
	for _, layout := range datetimes {
		if _, err := time.Parse(layout, value); err == nil {
			return Datetime
		}
	}
	return Text
}
