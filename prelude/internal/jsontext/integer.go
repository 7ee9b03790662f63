package jsontext

import "math/bits"

// Integer is what a JSON number says about integers.
type Integer struct {
	Negative  bool
	Magnitude uint64 // meaningful where Whole and Fits are true
	Whole     bool   // an integer in JSON Schema's sense: 1, 1.0 and 1e3 are, 1.5 is not
	Fits      bool   // the magnitude fits 64 bits
}

// Int64 is the integer as an int64, where it is one.
func (n Integer) Int64() (int64, bool) {
	const beyond = 1 << 63
	switch {
	case !n.Whole || !n.Fits:
		return 0, false
	case n.Negative:
		return -int64(n.Magnitude), n.Magnitude <= beyond
	default:
		return int64(n.Magnitude), n.Magnitude < beyond
	}
}

// ParseInteger reads a JSON number exactly, never by way of a float. The zero
// Integer, which is not whole, is the answer to text that is no number.
func ParseInteger(number []byte) Integer {
	if end, ok := skipNumber(number, 0); !ok || end != len(number) {
		return Integer{}
	}
	var n Integer
	i := 0
	if number[0] == '-' {
		n.Negative = true
		i++
	}
	// The value is digits × 10^exponent. Zeros at the end of the digits move into
	// the exponent, so that what is left is whole exactly when exponent ≥ 0.
	n.Fits = true
	var exponent, zeros int64
	point := false
	for ; i < len(number); i++ {
		c := number[i]
		if c == '.' {
			point = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		if point {
			exponent--
		}
		if c == '0' {
			zeros++
			continue
		}
		n.shift(zeros + 1)
		n.add(uint64(c - '0'))
		zeros = 0
	}
	if n.Magnitude == 0 && n.Fits {
		return Integer{Whole: true, Fits: true} // -0 and 0e9 are 0
	}
	exponent += zeros + readExponent(number[i:])
	n.Whole = exponent >= 0
	if n.Whole {
		n.shift(exponent)
	}
	return n
}

// shift multiplies by a power of ten.
func (n *Integer) shift(places int64) {
	for ; places > 0 && n.Fits && n.Magnitude != 0; places-- {
		high, low := bits.Mul64(n.Magnitude, 10)
		n.Magnitude, n.Fits = low, high == 0
	}
}

func (n *Integer) add(digit uint64) {
	sum, carry := bits.Add64(n.Magnitude, digit, 0)
	n.Magnitude, n.Fits = sum, n.Fits && carry == 0
}

// readExponent reads "e+12" or nothing. An exponent too large to matter is cut
// off well above the length of any text that fits into memory.
func readExponent(text []byte) int64 {
	const enough = 1 << 48
	if len(text) == 0 {
		return 0
	}
	text = text[1:]
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	var value int64
	for _, c := range text {
		if value = value*10 + int64(c-'0'); value > enough {
			value = enough
		}
	}
	if negative {
		return -value
	}
	return value
}
