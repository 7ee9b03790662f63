package tomlfile

import "strings"

// Choose tells the reader of a message which word to write: the nearest of the
// known ones, or all of them where none is near.
func Choose(got string, known []string) string {
	if near, ok := Nearest(got, known); ok {
		return "did you mean " + Quote(near) + "?"
	}
	if len(known) == 0 {
		return "remove it"
	}
	return "use one of " + strings.Join(known, ", ")
}

// Nearest finds the known word that a misspelt one was probably meant to be.
// Case, hyphens and a plural s are the commonest slips, then one or two letters
// wrong, then a word cut short or given another ending.
func Nearest(got string, known []string) (string, bool) {
	if len(got) > maxWord {
		return "", false
	}
	folded := fold(got)
	best, bestDistance := "", 3
	for _, k := range known {
		d := Slips(got, k)
		if d < bestDistance && d <= allowed(len(k)) {
			best, bestDistance = k, d
		}
	}
	if best != "" {
		return best, true
	}
	for _, k := range known {
		common := commonPrefix(folded, fold(k))
		if common >= 3 && common == len(folded) || common >= 4 && 3*common >= 2*len(folded) {
			return k, true
		}
	}
	return "", false
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// allowed is how many letters may differ in a word of n bytes before another
// word is more likely meant.
func allowed(n int) int {
	switch {
	case n <= 2:
		return 0
	case n <= 5:
		return 1
	default:
		return 2
	}
}

func fold(s string) string {
	return strings.ReplaceAll(strings.ToLower(s), "-", "_")
}

// Slips counts the letters that are wrong in one of two words: put in, left out,
// another one, or swapped with the next. Case does not count, nor a hyphen for an
// underscore.
func Slips(a, b string) int { return distance(fold(a), fold(b)) }

// distance counts the insertions, deletions, substitutions and swaps of
// neighbors between two words.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, above := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(y)]
}
