// Package convert is the entry of the tool convert: one value from one unit to another.
package convert

import (
	"encoding/json"

	"github.com/loomext/loomext/prelude/ext"

	"example.com/units/measure"
)

// request is schema/convert.json.
type request struct {
	Value  json.Number `json:"value"`
	From   string      `json:"from"`
	To     string      `json:"to"`
	Digits int         `json:"digits"`
}

// settings is the [config] of extension.toml.
type settings struct {
	Digits int `json:"digits"`
}

// maxDigits is the most that schema/convert.json lets a model ask for.
const maxDigits = 30

// answer is what the tool gives back. Value and its text are the same digits; exact says that
// no digit was rounded away.
type answer struct {
	Text     string           `json:"text"`
	Value    json.Number      `json:"value"`
	Unit     string           `json:"unit"`
	Quantity measure.Quantity `json:"quantity"`
	Exact    bool             `json:"exact"`
}

// Run converts a value.
var Run = ext.Typed(func(_ ext.Ctx, r request) (ext.Outcome, error) {
	if r.Digits == 0 {
		s, err := ext.Config[settings]()
		if err != nil {
			return ext.Outcome{}, err
		}
		r.Digits = s.Digits
	}
	a, err := converted(r)
	if err != nil {
		return ext.Outcome{}, err
	}
	return ext.JSON(a)
})

// converted does the work. Its errors are written for the model that reads them.
func converted(r request) (answer, error) {
	value, err := measure.Parse(r.Value.String())
	if err != nil {
		return answer{}, err
	}
	from, err := measure.Find(r.From)
	if err != nil {
		return answer{}, ext.Refuse("from: %v", err)
	}
	to, err := measure.Find(r.To)
	if err != nil {
		return answer{}, ext.Refuse("to: %v", err)
	}
	if r.Digits < 1 || r.Digits > maxDigits {
		return answer{}, ext.Refuse("digits is %d; ask for 1 to %d", r.Digits, maxDigits)
	}
	result, err := measure.Convert(value, from, to)
	if err != nil {
		return answer{}, err
	}
	text, exact := measure.Decimal(result, r.Digits)
	relation := " = "
	if !exact {
		relation = " ≈ "
	}
	return answer{
		Text:  r.Value.String() + " " + from.Symbol + relation + text + " " + to.Symbol,
		Value: json.Number(text), Unit: to.Symbol, Quantity: to.Quantity, Exact: exact,
	}, nil
}
