package manifest

import (
	"strings"
	"testing"
)

// What a schema says reaches the model and no approval shows it, so nothing in it may be hidden.
func TestASchemaHidesNothing(t *testing.T) {
	for _, c := range []struct{ schema, at string }{
		{`{"type": "object", "description": "x\u202ey"}`, "/description"},
		{`{"type": "object", "properties": {"a": {"title": "\udb40\udc41"}}}`, "/properties/a/title"},
		{`{"type": "object", "properties": {"a\u200b": {}}}`, "/properties"},
		{`{"type": "object", "properties": {"a": {"enum": ["\u001b[2J"]}}}`, "/properties/a/enum/0"},
		{"{\"type\": \"object\", \"description\": \"\u2066raw\"}", "/description"},
	} {
		_, err := CompileSchema([]byte(c.schema))
		if err == nil || !strings.Contains(err.Error(), c.at+": ") {
			t.Errorf("%q: %v; want a fault at %s", c.schema, err, c.at)
		}
	}
	if _, err := CompileSchema([]byte(`{"type": "object", "description": "two\nlines \u00e9 and an emoji \u2764\ufe0f"}`)); err != nil {
		t.Errorf("visible text is refused: %v", err)
	}
}
