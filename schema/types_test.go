package schema_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// The types that schema and decoder are compared on. This very file is the source that the schemas are derived from, and so
// it uses of the language what extensions do.

type scalars struct {
	Text     string  `json:"text"`
	Yes      bool    `json:"yes"`
	Float    float64 `json:"float"`
	Single   float32 `json:"single"`
	Int      int     `json:"int"`
	Tiny     int8    `json:"tiny"`
	Short    int16   `json:"short"`
	Rune     rune    `json:"rune"`
	Byte     byte    `json:"byte"`
	Unsigned uint    `json:"unsigned"`
	Word     uint32  `json:"word"`
	Untagged string
	hidden   int
	Skipped  chan int    `json:"-"`
	Odd      string      `json:"a b/c~d"`
	Number   json.Number `json:"number"`
}

type options struct {
	Left  string `json:"left,omitempty"`
	Out   int    `json:"out,omitzero"`
	Maybe *int   `json:"maybe"`
	Twice **bool `json:"twice"`
}

type containers struct {
	List   []int            `json:"list"`
	Nested [][]string       `json:"nested"`
	Pair   [2]int           `json:"pair"`
	Const  [size]bool       `json:"const"`
	Table  map[string]int   `json:"table"`
	Named  map[color]*point `json:"named"`
	Points []point          `json:"points"`
	Any    any              `json:"any"`
	Iface  interface{}      `json:"iface"`
	Raw    json.RawMessage  `json:"raw"`
	Lists  map[string][]any `json:"lists"`
}

const (
	half = 1 + 1
	size = half*2 - 1
)

type color string

type point struct {
	X, Y int
}

type embedding struct {
	point
	*Base
	Deep
	Y string `json:"Y"` // hides point's
	Renamed
}

type Base struct {
	ID   string `json:"id"`
	Name string `json:"Title"`
}

// Deep has a name that Base has as well, which wins by its tag.
type Deep struct {
	Title string
	Kind  color `json:"kind"`
}

type Renamed = struct {
	Alias int `json:"alias"`
}

type tree struct {
	Value    int             `json:"value"`
	Children []tree          `json:"children,omitempty"`
	ByName   map[string]tree `json:"by_name,omitempty"`
}

type cyclic struct {
	Root *ring     `json:"root"`
	All  chainlist `json:"all"`
}

type ring struct {
	Next *ring  `json:"next"`
	Back cyclic `json:"back,omitempty"`
}

type chainlist []chainlist

type page[T any, K ~string] struct {
	Items []T         `json:"items"`
	By    map[K]T     `json:"by"`
	More  *page[T, K] `json:"more"`
}

type generic struct {
	Points page[point, color]   `json:"points"`
	Words  page[string, string] `json:"words"`
}

type encoded struct {
	Bytes   []byte        `json:"bytes"`
	Blob    blob          `json:"blob"`
	Anew    rawAnew       `json:"anew"`
	When    time.Time     `json:"when"`
	Until   *time.Time    `json:"until"`
	Wait    time.Duration `json:"wait"`
	Month   time.Month    `json:"month"`
	Query   url.Values    `json:"query"`
	Level   level         `json:"level"`
	Count   numberAnew    `json:"count"`
	ByLevel map[level]int `json:"by_level"`
}

// texts are types that decode themselves from some texts only.
type texts struct {
	Addr   netip.Addr     `json:"addr"`
	Prefix []netip.Prefix `json:"prefix"`
	Ratio  *big.Rat       `json:"ratio"`
	Expr   *regexp.Regexp `json:"expr"`
}

type blob []byte

type rawAnew json.RawMessage

type numberAnew json.Number

// level decodes itself from text.
type level struct{ n int }

func (l *level) UnmarshalText(text []byte) error {
	l.n = len(text)
	return nil
}

// levelAnew has lost the method, and is a struct without a field that counts.
type levelAnew level

// promoted has the method of what it embeds.
type promoted struct {
	level
	Other int
}

// self decodes itself from JSON.
type self struct{ on bool }

func (s *self) UnmarshalJSON(text []byte) error {
	switch strings.TrimSpace(string(text)) {
	case "true", "false":
		s.on = text[0] == 't'
		return nil
	}
	return errors.New("neither true nor false")
}

type decoding struct {
	Anew     levelAnew `json:"anew"`
	Promoted promoted  `json:"promoted"`
	Self     self      `json:"self" jsonschema:"type=boolean"`
	Selves   []self    `json:"selves" jsonschema:"items.type=boolean"`
}

type tagged struct {
	_     struct{}       `jsonschema:"additionalProperties=false"`
	Days  int            `json:"days" jsonschema:"minimum=1,maximum=7,default=3"`
	Size  uint8          `json:"size" jsonschema:"maximum=9,multipleOf=3"`
	Name  string         `json:"name" jsonschema:"minLength=2,maxLength=5,pattern=^[a-z]{1\\,4}$"`
	Kind  *color         `json:"kind" jsonschema:"enum=red|green|blue,required"`
	Tags  []string       `json:"tags" jsonschema:"minItems=1,maxItems=3,uniqueItems,items.minLength=1"`
	Ratio float64        `json:"ratio" jsonschema:"exclusiveMinimum=0,exclusiveMaximum=1.5"`
	Table map[string]int `json:"table" jsonschema:"maxProperties=2,items.minimum=0"`
	Level int            `json:"level,omitempty" jsonschema:"enum=1|2|3,deprecated"`
}

type mapped map[string]point

var _ = scalars{}.hidden
