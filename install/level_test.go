package install

import (
	"testing"

	"github.com/loomext/loomext/jail"
)

func TestWeaker(t *testing.T) {
	for _, tt := range []struct{ a, b, want jail.Level }{
		{jail.LevelFull, jail.LevelFull, jail.LevelFull},
		{jail.LevelFull, jail.LevelNoCgroup, jail.LevelNoCgroup},
		{jail.LevelFilterOnly, jail.LevelNoLandlock, jail.LevelFilterOnly},
		{"", jail.LevelFull, jail.LevelFull},
		{jail.LevelNoNamespaces, "", jail.LevelNoNamespaces},
		{jail.LevelFilterOnly, "unheard-of", "unheard-of"},
		{"", "", ""},
	} {
		if got := weaker(tt.a, tt.b); got != tt.want {
			t.Errorf("of %q and %q: %q, want %q", tt.a, tt.b, got, tt.want)
		}
		if got := weaker(tt.b, tt.a); got != tt.want {
			t.Errorf("of %q and %q: %q, want %q", tt.b, tt.a, got, tt.want)
		}
	}
}
