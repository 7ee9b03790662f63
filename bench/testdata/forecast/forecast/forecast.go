// Package forecast is an ordinary tool: JSON arguments into a struct, a refusal, JSON out.
package forecast

import (
	"github.com/loomext/loomext/prelude/ext"
)

// edition is what the benchmark changes to make the source another one.
const edition = "edition 0"

const maxDays = 7

type query struct {
	City string `json:"city"`
	Days int    `json:"days"`
}

type day struct {
	Day         int    `json:"day"`
	Sky         string `json:"sky"`
	Temperature int    `json:"temperature"`
}

type forecast struct {
	City    string `json:"city"`
	Edition string `json:"edition"`
	Days    []day  `json:"days"`
}

var skies = [...]string{"clear", "cloudy", "rain", "snow"}

// Run makes the forecast up from the letters of the city's name.
var Run = ext.Typed(func(ctx ext.Ctx, q query) (ext.Outcome, error) {
	if q.Days < 1 || q.Days > maxDays {
		return ext.Outcome{}, ext.Refuse("days is %d; ask for 1 to %d", q.Days, maxDays)
	}
	f := forecast{City: q.City, Edition: edition}
	seed := 0
	for _, letter := range q.City {
		seed += int(letter)
	}
	for i := range q.Days {
		f.Days = append(f.Days, day{Day: i + 1, Sky: skies[(seed+i)%len(skies)], Temperature: (seed + 3*i) % 30})
	}
	return ext.JSON(f)
})
