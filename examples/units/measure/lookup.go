package measure

import (
	"fmt"
	"strings"
)

// UnknownError is a word that names no unit, or more than one.
type UnknownError struct {
	Word string
	Near []string // symbols the word may have meant; all of them fit if Many
	Many bool
}

func (e *UnknownError) Error() string {
	near := strings.Join(e.Near, ", ")
	switch {
	case e.Many:
		return fmt.Sprintf("%q means more than one unit; say which: %s", e.Word, near)
	case near != "":
		return fmt.Sprintf("there is no unit %q; did you mean %s?", e.Word, near)
	}
	return fmt.Sprintf("there is no unit %q; the tool units lists them", e.Word)
}

// ambiguous are words that no one can be sure of.
var ambiguous = map[string][]string{
	"ton":  {"t", "short_ton", "long_ton"},
	"tons": {"t", "short_ton", "long_ton"},
}

// Find looks a unit up by its symbol, its name or another spelling. Where no spelling fits to
// the letter, case and a plural s are let go, as long as one unit remains.
func Find(word string) (Unit, error) {
	wanted := spelling(word)
	if symbols, ok := ambiguous[strings.ToLower(wanted)]; ok {
		return Unit{}, &UnknownError{Word: word, Near: symbols, Many: true}
	}
	for _, matches := range []func(string) bool{
		func(known string) bool { return known == wanted },
		func(known string) bool { return strings.EqualFold(known, wanted) },
		func(known string) bool { return len(known) > 2 && strings.EqualFold(known+"s", wanted) },
	} {
		found := findAll(matches)
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return Unit{}, &UnknownError{Word: word, Near: symbols(found), Many: true}
		}
	}
	return Unit{}, &UnknownError{Word: word, Near: near(wanted)}
}

func findAll(matches func(string) bool) []Unit {
	var found []Unit
	for _, unit := range units() {
		for _, known := range unit.spellings() {
			if matches(known) {
				found = append(found, unit)
				break
			}
		}
	}
	return found
}

func (u Unit) spellings() []string { return append([]string{u.Symbol, u.Name}, u.words...) }

// spelling brings what people type to how the table spells it.
func spelling(word string) string {
	word = strings.NewReplacer(
		"²", "2", "³", "3", "^", "", // ft², ft^2
		"µ", "u", "μ", "u", // the micro sign and the Greek letter
		"º", "°", // a common slip
		"_", " ",
	).Replace(strings.TrimSpace(word))
	word = strings.Join(strings.Fields(word), " ")
	for _, unit := range units() { // symbols with an underscore of their own
		if strings.Contains(unit.Symbol, "_") && strings.EqualFold(strings.ReplaceAll(unit.Symbol, "_", " "), word) {
			return unit.Symbol
		}
	}
	return word
}

func symbols(units []Unit) []string {
	out := make([]string, len(units))
	for i, unit := range units {
		out[i] = unit.Symbol
	}
	return out
}

// near lists up to three symbols of units with a spelling one or two edits away.
func near(word string) []string {
	const most = 3
	word = strings.ToLower(word)
	reach := 1
	if len(word) > 4 {
		reach = 2
	}
	var out []string
	for _, unit := range units() {
		for _, known := range unit.spellings() {
			if len(known) > 2 && distance(word, strings.ToLower(known)) <= reach {
				out = append(out, unit.Symbol)
				break
			}
		}
		if len(out) == most {
			break
		}
	}
	return out
}

// distance is the number of letters to change, add or drop between two words.
func distance(a, b string) int {
	if len(a) > 40 || len(b) > 40 {
		return 40
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
