package runtime

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/loomext/loomext/prelude/internal/config"
	"github.com/loomext/loomext/prelude/internal/jsontext"
)

// A declaration is declarationMagic, the length of its JSON as declarationDigits lower
// case hexadecimal digits, a space, the JSON, and a newline: something that can be
// found in a binary, and be known to be whole, without running it.
const (
	declarationMagic  = "loomext-declaration/1 "
	declarationDigits = 8
)

// members are what the JSON of a declaration has, each once.
var members = map[string]jsontext.Kind{
	"name":     jsontext.String,
	"version":  jsontext.String,
	"revision": jsontext.String,
	"tools":    jsontext.Array,
	"hooks":    jsontext.Array,
	configName: jsontext.Object,
}

const configName = "config"

// undeclared is why the declaration of this process is none. It is written while
// package variables are set and read by Serving.
var undeclared error

// Declare takes the declaration the build rendered and makes its configuration the one
// ext.Config reads. A bad one fails the boot: Serving says so and exits. It returns a
// value so that a package variable can be set from it, before main begins.
func Declare(text string) struct{} {
	document, err := configOf(text)
	if err == nil {
		err = config.Set(document)
	}
	if err != nil && undeclared == nil {
		undeclared = fmt.Errorf("the declaration: %w", err)
	}
	return struct{}{}
}

// configOf takes a declaration apart as far as its configuration.
func configOf(text string) ([]byte, error) {
	rest, ok := strings.CutPrefix(text, declarationMagic)
	if !ok {
		return nil, fmt.Errorf("does not begin with %q", declarationMagic)
	}
	if len(rest) < declarationDigits+1 || rest[declarationDigits] != ' ' {
		return nil, fmt.Errorf("has no length of %d digits and a space", declarationDigits)
	}
	digits, body := rest[:declarationDigits], rest[declarationDigits+1:]
	length, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || fmt.Sprintf("%0*x", declarationDigits, length) != digits {
		return nil, fmt.Errorf("has the length %q; want %d lower case hexadecimal digits", digits, declarationDigits)
	}
	body, ok = strings.CutSuffix(body, "\n")
	if !ok {
		return nil, errors.New("does not end with a newline")
	}
	if uint64(len(body)) != length {
		return nil, fmt.Errorf("has %d bytes of JSON; its length says %d", len(body), length)
	}
	return configIn([]byte(body))
}

// configIn is the configuration in the JSON of a declaration.
func configIn(object []byte) (config []byte, err error) {
	if err := jsontext.Check(object); err != nil {
		return nil, err
	}
	if kind := jsontext.KindAt(object, 0); kind != jsontext.Object {
		return nil, fmt.Errorf("is a JSON %s; want an object", kind)
	}
	seen := make(map[string]bool, len(members))
	for quoted, value := range jsontext.Members(object) {
		name, _ := jsontext.Unquote(quoted)
		want, known := members[name]
		if !known || seen[name] {
			return nil, fmt.Errorf("has %s, which is unknown or there twice", quoted)
		}
		seen[name] = true
		if kind := jsontext.KindAt(value, 0); kind != want {
			return nil, fmt.Errorf("has a %s for %s; want a %s", kind, name, want)
		}
		if name == configName {
			config = value
		}
	}
	for name := range members {
		if !seen[name] {
			return nil, fmt.Errorf("has no %s", name)
		}
	}
	return config, nil
}
