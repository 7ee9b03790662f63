package measure

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

const (
	// maxNumberText and maxExponent bound the numbers that are read: exact fractions of
	// larger ones cost memory and say nothing about the world.
	maxNumberText = 100
	maxExponent   = 300

	// Results from 1e-6 up to 1e21 are written without an exponent, as JavaScript does.
	plainFrom, plainTo = -7, 21
)

// ErrNumber is a number that is not read.
var ErrNumber = errors.New("the value must be a number of at most 100 characters, between 1e-300 and 1e300 in size")

// Parse reads a JSON number exactly: 0.1 is a tenth.
func Parse(text string) (*big.Rat, error) {
	if len(text) > maxNumberText {
		return nil, ErrNumber
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, err := strconv.Atoi(text[i+1:])
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return nil, ErrNumber
		}
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok || strings.ContainsAny(text, "/_xXpPbBoO") {
		return nil, ErrNumber
	}
	return value, nil
}

// Decimal writes a value as a JSON number with at most the given number of significant
// digits, rounding half to even, and says whether that is exactly the value.
func Decimal(value *big.Rat, digits int) (text string, exact bool) {
	if value.Sign() == 0 {
		return "0", true
	}
	magnitude := new(big.Rat).Abs(value)
	exponent := exponentOf(magnitude)
	scaled, exact := rounded(shifted(magnitude, digits-1-exponent))
	figures := scaled.String()
	if len(figures) > digits { // 9.99 became 10.0
		exponent++
	}
	figures = strings.TrimRight(figures, "0")
	text = layout(figures, exponent)
	if value.Sign() < 0 {
		text = "-" + text
	}
	return text, exact
}

// exponentOf is the power of ten of the first digit.
func exponentOf(v *big.Rat) int {
	e := len(v.Num().String()) - len(v.Denom().String())
	if v.Cmp(shifted(big.NewRat(1, 1), e)) < 0 {
		e--
	}
	return e
}

// shifted is v × 10^n.
func shifted(v *big.Rat, n int) *big.Rat {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil)
	if n >= 0 {
		return new(big.Rat).Mul(v, new(big.Rat).SetInt(power))
	}
	return new(big.Rat).Quo(v, new(big.Rat).SetInt(power))
}

// rounded is the nearest integer, the even one of two, and whether it is v itself.
func rounded(v *big.Rat) (n *big.Int, exact bool) {
	n, rest := new(big.Int).QuoRem(v.Num(), v.Denom(), new(big.Int))
	if rest.Sign() == 0 {
		return n, true
	}
	rest.Lsh(rest, 1)
	switch c := rest.Cmp(v.Denom()); {
	case c > 0, c == 0 && n.Bit(0) == 1:
		n.Add(n, big.NewInt(1))
	}
	return n, false
}

// layout places the point: figures are the digits without trailing zeros, the first of them
// at 10^exponent.
func layout(figures string, exponent int) string {
	switch {
	case exponent >= plainTo || exponent <= plainFrom:
		text := figures[:1]
		if len(figures) > 1 {
			text += "." + figures[1:]
		}
		return text + "e" + strconv.Itoa(exponent)
	case exponent < 0:
		return "0." + strings.Repeat("0", -exponent-1) + figures
	case len(figures) <= exponent+1:
		return figures + strings.Repeat("0", exponent+1-len(figures))
	}
	return figures[:exponent+1] + "." + figures[exponent+1:]
}
