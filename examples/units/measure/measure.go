// Package measure holds units of measure and converts between them in exact fractions.
//
// Every unit here is defined as an exact multiple of its quantity's base unit (an inch is
// 0.0254 m, a pound 0.45359237 kg, a nautical mile 1852 m), so a conversion is exact until
// its result is written with a number of digits. Units without such a definition (a month, a
// parsec) are not here.
package measure

import (
	"fmt"
	"math/big"
)

// Quantity is what a unit measures. Units of two quantities do not convert.
type Quantity string

// The quantities, each with its base unit.
const (
	Length      Quantity = "length"      // metre
	Area        Quantity = "area"        // square metre
	Volume      Quantity = "volume"      // cubic metre
	Mass        Quantity = "mass"        // kilogram
	Temperature Quantity = "temperature" // kelvin
	Speed       Quantity = "speed"       // metre per second
	Time        Quantity = "time"        // second
	Pressure    Quantity = "pressure"    // pascal
	Energy      Quantity = "energy"      // joule
	Data        Quantity = "data"        // bit
	DataRate    Quantity = "data rate"   // bit per second
)

// Quantities lists them in the order a reader expects.
func Quantities() []Quantity {
	return []Quantity{Length, Area, Volume, Mass, Temperature, Speed, Time, Pressure, Energy, Data, DataRate}
}

// Unit is one unit of measure: base = value × factor + offset.
type Unit struct {
	Symbol   string
	Name     string
	Quantity Quantity

	words  []string // other spellings
	factor *big.Rat
	offset *big.Rat // of temperatures; nil is zero
}

// BelowZeroError is a temperature that does not exist.
type BelowZeroError struct{ Unit Unit }

func (e *BelowZeroError) Error() string {
	zero := new(big.Rat).Quo(new(big.Rat).Neg(e.Unit.shift()), e.Unit.factor)
	text, _ := Decimal(zero, 6)
	return fmt.Sprintf("the temperature is below absolute zero, which is %s %s", text, e.Unit.Symbol)
}

// MismatchError is two units that measure different things.
type MismatchError struct{ From, To Unit }

func (e *MismatchError) Error() string {
	return fmt.Sprintf("%s measures %s and %s measures %s; they do not convert",
		e.From.Symbol, e.From.Quantity, e.To.Symbol, e.To.Quantity)
}

// Convert converts a value exactly.
func Convert(value *big.Rat, from, to Unit) (*big.Rat, error) {
	if from.Quantity != to.Quantity {
		return nil, &MismatchError{From: from, To: to}
	}
	base := new(big.Rat).Mul(value, from.factor)
	base.Add(base, from.shift())
	if from.Quantity == Temperature && base.Sign() < 0 {
		return nil, &BelowZeroError{Unit: from}
	}
	base.Sub(base, to.shift())
	return base.Quo(base, to.factor), nil
}

func (u Unit) shift() *big.Rat {
	if u.offset == nil {
		return new(big.Rat)
	}
	return u.offset
}
