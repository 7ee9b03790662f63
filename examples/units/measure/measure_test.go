package measure

import (
	"errors"
	"math/big"
	"strings"
	"testing"
)

func TestKnownConversions(t *testing.T) {
	tests := []struct {
		value, from, to, want string
		exact                 bool
	}{
		{"26.2", "mi", "km", "42.1648128", true},
		{"1", "in", "cm", "2.54", true},
		{"1", "nmi", "m", "1852", true},
		{"0.1", "km", "m", "100", true},
		{"1", "m", "ft", "3.28083989501", false},
		{"1", "acre", "ft2", "43560", true},
		{"1", "mi2", "acre", "640", true},
		{"1", "gal", "in3", "231", true},
		{"1", "imp_gal", "L", "4.54609", true},
		{"3", "tsp", "tbsp", "1", true},
		{"16", "cup", "gal", "1", true},
		{"1", "lb", "g", "453.59237", true},
		{"16", "oz", "lb", "1", true},
		{"1", "st", "lb", "14", true},
		{"7000", "gr", "lb", "1", true},
		{"212", "°F", "°C", "100", true},
		{"-40", "°C", "°F", "-40", true},
		{"0", "K", "°C", "-273.15", true},
		{"-459.67", "F", "K", "0", true},
		{"491.67", "°R", "°C", "0", true},
		{"36", "km/h", "m/s", "10", true},
		{"1", "kn", "km/h", "1.852", true},
		{"60", "mph", "ft/s", "88", true},
		{"1", "wk", "h", "168", true},
		{"1", "atm", "torr", "760", true},
		{"1", "psi", "Pa", "6894.75729317", false},
		{"1", "kWh", "kJ", "3600", true},
		{"2000", "kcal", "kJ", "8368", true},
		{"1", "GiB", "MB", "1073.741824", true},
		{"100", "Mbit/s", "MB/s", "12.5", true},
		{"1", "ly", "au", "63241.0770843", false},
		{"1e-300", "nm", "ly", "1.05700083402e-325", false},
	}
	for _, tt := range tests {
		t.Run(tt.from+" to "+tt.to, func(t *testing.T) {
			got, exact := convert(t, tt.value, tt.from, tt.to)
			if got != tt.want || exact != tt.exact {
				t.Errorf("%s %s = %s %s (exact %v), want %s (exact %v)", tt.value, tt.from, got, tt.to, exact, tt.want, tt.exact)
			}
		})
	}
}

func convert(t *testing.T, value, from, to string) (string, bool) {
	t.Helper()
	v, err := Parse(value)
	if err != nil {
		t.Fatal(err)
	}
	result, err := Convert(v, find(t, from), find(t, to))
	if err != nil {
		t.Fatal(err)
	}
	return Decimal(result, 12)
}

func find(t *testing.T, word string) Unit {
	t.Helper()
	unit, err := Find(word)
	if err != nil {
		t.Fatal(err)
	}
	return unit
}

func TestThereAndBackIsExact(t *testing.T) {
	value := big.NewRat(7919, 1000)
	for _, from := range All() {
		for _, to := range Of(from.Quantity) {
			there, err := Convert(value, from, to)
			if err != nil {
				t.Fatal(err)
			}
			back, err := Convert(there, to, from)
			if err != nil {
				t.Fatal(err)
			}
			if back.Cmp(value) != 0 {
				t.Errorf("%s to %s and back gives %s", from.Symbol, to.Symbol, back)
			}
		}
	}
}

func TestEverySpellingFindsItsUnit(t *testing.T) {
	for _, unit := range All() {
		for _, word := range append(unit.spellings(), " "+unit.Symbol+" ") {
			if got, err := Find(word); err != nil || got.Symbol != unit.Symbol {
				t.Errorf("Find(%q) = %q, %v; want %q", word, got.Symbol, err, unit.Symbol)
			}
		}
	}
}

func TestFindIsForgivingWhereItCanBe(t *testing.T) {
	for word, want := range map[string]string{
		"Miles": "mi", "KILOMETERS": "km", "feet": "ft", "degrees celsius": "", "celsius": "°C", "ºF": "°F",
		"ft²": "ft2", "m^3": "m3", "µm": "um", "μs": "us", "fluid ounces": "floz", "short ton": "short_ton",
		"imperial gallon": "imp_gal", "imp gal": "imp_gal", "pounds": "lb", "kph": "km/h", "gb": "", "Gb": "Gbit", "GB": "GB",
	} {
		got, err := Find(word)
		if got.Symbol != want || (err == nil) != (want != "") {
			t.Errorf("Find(%q) = %q, %v; want %q", word, got.Symbol, err, want)
		}
	}
}

func TestFindSaysWhatItDoesNotKnow(t *testing.T) {
	for word, want := range map[string]string{
		"ton":      "t, short_ton, long_ton",
		"mb":       "Mbit, MB",
		"kilometr": "did you mean km?",
		"parsec":   "the tool units lists them",
		"":         "the tool units lists them",
	} {
		_, err := Find(word)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || !strings.Contains(err.Error(), want) {
			t.Errorf("Find(%q): %v; want it to say %q", word, err, want)
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	if _, err := Convert(big.NewRat(1, 1), find(t, "m"), find(t, "kg")); !errors.As(err, new(*MismatchError)) {
		t.Errorf("metres to kilograms: %v", err)
	}
	_, err := Convert(big.NewRat(-274, 1), find(t, "°C"), find(t, "K"))
	if !errors.As(err, new(*BelowZeroError)) || !strings.Contains(err.Error(), "-273.15 °C") {
		t.Errorf("-274 °C: %v", err)
	}
}

func TestDecimal(t *testing.T) {
	tests := []struct {
		num, den int64
		digits   int
		want     string
		exact    bool
	}{
		{0, 1, 5, "0", true},
		{1, 3, 5, "0.33333", false},
		{2, 3, 5, "0.66667", false},
		{999999, 100000, 3, "10", false},
		{-5, 2, 1, "-2", false}, // half to even
		{-15, 10, 1, "-2", false},
		{123456, 1, 2, "120000", false},
		{1, 1000000, 3, "0.000001", true},
		{1, 10000000, 3, "1e-7", true},
		{1000000000000000000, 1, 3, "1000000000000000000", true},
	}
	for _, tt := range tests {
		got, exact := Decimal(big.NewRat(tt.num, tt.den), tt.digits)
		if got != tt.want || exact != tt.exact {
			t.Errorf("Decimal(%d/%d, %d) = %s, %v; want %s, %v", tt.num, tt.den, tt.digits, got, exact, tt.want, tt.exact)
		}
	}
}

func TestParseRefusesWhatCostsMemory(t *testing.T) {
	for _, text := range []string{"1e301", "1e-999999999", "1e99999999999999999999", strings.Repeat("1", 101), "1/3", "0x10", "1_0", "", "x"} {
		if v, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, v)
		}
	}
}
