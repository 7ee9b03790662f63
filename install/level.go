package install

import (
	"slices"

	"github.com/loomext/loomext/jail"
)

// levels are the jail's, the strongest first.
var levels = []jail.Level{jail.LevelFull, jail.LevelNoCgroup, jail.LevelNoUser, jail.LevelNoLandlock, jail.LevelNoNamespaces, jail.LevelFilterOnly}

// weaker is the weaker of two levels. The empty one, of what did not run or is not known, gives
// way to any other, and a level that this version does not know is the weakest.
func weaker(a, b jail.Level) jail.Level {
	rank := func(l jail.Level) int {
		if at := slices.Index(levels, l); at >= 0 || l == "" {
			return at
		}
		return len(levels)
	}
	if rank(a) > rank(b) {
		return a
	}
	return b
}
