package secret

import (
	"bytes"
	"encoding/json"
)

// Document redacts the strings of a JSON document. Everything else stays as it is, byte for byte:
// the order of members, the digits of numbers, the spaces. A document that is none comes back.
func Document(raw []byte) ([]byte, []string) {
	if !json.Valid(raw) {
		return raw, nil
	}
	var (
		out   bytes.Buffer
		kinds []string
		key   string // the name of the member whose value comes next
		last  int
	)
	for at := 0; at < len(raw); {
		if raw[at] != '"' {
			switch raw[at] {
			case '{', '[', ',':
				key = ""
			}
			at++
			continue
		}
		end := stringEnd(raw, at)
		var text string
		if json.Unmarshal(raw[at:end], &text) != nil {
			return raw, nil
		}
		if isKey(raw, end) {
			key, at = text, end
			continue
		}
		clean, found := Redact(text)
		if len(found) == 0 && key != "" && IsSecret(key, text) {
			clean, found = Marker(kindOf(key)), []string{kindOf(key)}
		}
		if len(found) > 0 {
			out.Write(raw[last:at])
			out.Write(quote(clean))
			last = end
			kinds = append(kinds, found...)
		}
		at = end
	}
	if kinds == nil {
		return raw, nil
	}
	out.Write(raw[last:])
	return out.Bytes(), kinds
}

// stringEnd is behind the quote that ends the string which begins at a place.
func stringEnd(raw []byte, at int) int {
	for at++; raw[at] != '"'; at++ {
		if raw[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// isKey reports whether a string that ends at a place is the name of a member.
func isKey(raw []byte, at int) bool {
	for at < len(raw) && (raw[at] == ' ' || raw[at] == '\n' || raw[at] == '\t' || raw[at] == '\r') {
		at++
	}
	return at < len(raw) && raw[at] == ':'
}

// quote is a text as JSON, with nothing escaped that need not be.
func quote(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil {
		return []byte(`""`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
