package gen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"

	"github.com/loomext/loomext/manifest"
)

// A declaration in a file is magic, the byte length of the JSON as lengthDigits lower-case hex digits, a space, the JSON
// and a line feed.
const (
	magic        = "loomext-declaration/1 "
	lengthDigits = 8
	headLen      = len(magic) + lengthDigits + 1
	// maxDeclaration bounds the JSON: it stands in every satellite, and a reader of foreign files allocates it.
	maxDeclaration = 1 << 20
	// window is how much of a file is scanned at a time.
	window = 256 << 10
)

// Declaration is what a satellite says it is. Tools and Hooks are sorted names; Config is canonical JSON.
type Declaration struct {
	Name     string          `json:"name"`
	Version  string          `json:"version"`
	Revision string          `json:"revision"`
	Tools    []string        `json:"tools"`
	Hooks    []string        `json:"hooks"`
	Config   json.RawMessage `json:"config"`
}

// Errors of [ReadDeclaration].
var (
	ErrNoDeclaration      = errors.New("the file declares nothing; it is no loomext satellite")
	ErrTwoDeclarations    = errors.New("the file has two declarations, so neither can be trusted; an extension must not hold the magic word in a string of its own")
	ErrCorruptDeclaration = errors.New("the declaration in the file is not whole; build it anew")
)

// Declare is the declaration a satellite of this manifest and configuration must have.
func Declare(m manifest.Manifest, config manifest.Config) Declaration {
	d := Declaration{
		Name: m.Name(), Version: m.Version(), Revision: m.Revision(),
		Tools: []string{}, Hooks: []string{}, Config: json.RawMessage(config.JSON()),
	}
	for _, t := range m.Tools() {
		d.Tools = append(d.Tools, t.Name)
	}
	for _, h := range m.Hooks() {
		d.Hooks = append(d.Hooks, h.Event)
	}
	slices.Sort(d.Tools)
	slices.Sort(d.Hooks)
	return d
}

// Equal reports whether two declarations say the same, byte for byte in the configuration.
func (d Declaration) Equal(other Declaration) bool {
	return d.Name == other.Name && d.Version == other.Version && d.Revision == other.Revision &&
		slices.Equal(d.Tools, other.Tools) && slices.Equal(d.Hooks, other.Hooks) && bytes.Equal(d.Config, other.Config)
}

// Difference names the first part in which d differs from want, with both values, or is "".
func (d Declaration) Difference(want Declaration) string {
	a, b := reflect.ValueOf(d), reflect.ValueOf(want)
	for i := range a.NumField() {
		if x, y := fmt.Sprintf("%q", a.Field(i)), fmt.Sprintf("%q", b.Field(i)); x != y {
			return fmt.Sprintf("%s is %.200s, not %.200s", a.Type().Field(i).Tag.Get("json"), x, y)
		}
	}
	return ""
}

// json is the one form of a declaration: compact, in the order of the fields, nothing escaped for HTML.
func (d Declaration) json() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func (d Declaration) text() (string, error) {
	body, err := d.json()
	if err != nil {
		return "", fmt.Errorf("generate: declaration: %w", err)
	}
	if len(body) > maxDeclaration {
		return "", fmt.Errorf("generate: declaration: %d bytes; the names and [config] together may take %d", len(body), maxDeclaration)
	}
	return fmt.Sprintf("%s%0*x %s\n", magic, lengthDigits, len(body), body), nil
}

// ReadDeclaration finds the one declaration in a file of the given size, reading it piece by piece. A file with none, with
// more than one, or with one that is not whole is an error: an extension can write the magic word into a string of its
// own, and then nothing says which of the two is ours. The magic word inside a declaration's own JSON is part of it.
func ReadDeclaration(binary io.ReaderAt, size int64) (Declaration, error) {
	var found *Declaration
	buf := make([]byte, max(0, min(window, size)))
	for at := int64(0); at < size; {
		n, err := binary.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return Declaration{}, fmt.Errorf("read the declaration: %w", err)
		}
		offset, ok := findHead(buf[:n])
		if !ok {
			if n < len(buf) || at+int64(n) == size {
				break
			}
			// A head may begin in the tail; it is read again with what follows it.
			at += int64(n - (headLen - 1))
			continue
		}
		at += int64(offset)
		d, length, err := readAt(binary, at, size)
		switch {
		case err != nil:
			return Declaration{}, err
		case found != nil:
			return Declaration{}, ErrTwoDeclarations
		}
		found = &d
		at += length
	}
	if found == nil {
		return Declaration{}, ErrNoDeclaration
	}
	return *found, nil
}

// findHead returns the offset of the first whole head: the magic word alone, as the reader of declarations inside every
// satellite has it, is none.
func findHead(b []byte) (int, bool) {
	for from := 0; ; {
		i := bytes.Index(b[from:], []byte(magic))
		if i < 0 || from+i+headLen > len(b) {
			return 0, false
		}
		from += i
		if _, ok := headLength(b[from : from+headLen]); ok {
			return from, true
		}
		from += len(magic)
	}
}

// headLength reads the length out of a head, and reports whether it is one.
func headLength(head []byte) (int64, bool) {
	digits := head[len(magic) : len(magic)+lengthDigits]
	for _, c := range digits {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(string(digits), 16, 64)
	return n, err == nil && head[headLen-1] == ' '
}

// readAt decodes the declaration whose head is at the offset, and returns how many bytes it takes with its head.
func readAt(binary io.ReaderAt, at, size int64) (Declaration, int64, error) {
	head := make([]byte, headLen)
	if _, err := binary.ReadAt(head, at); err != nil && !errors.Is(err, io.EOF) {
		return Declaration{}, 0, fmt.Errorf("read the declaration: %w", err)
	}
	length, ok := headLength(head)
	whole := int64(headLen) + length + 1
	if !ok || length > maxDeclaration || whole > size-at {
		return Declaration{}, 0, ErrCorruptDeclaration
	}
	body := make([]byte, length+1)
	if _, err := binary.ReadAt(body, at+int64(headLen)); err != nil && !errors.Is(err, io.EOF) {
		return Declaration{}, 0, fmt.Errorf("read the declaration: %w", err)
	}
	if body[length] != '\n' {
		return Declaration{}, 0, ErrCorruptDeclaration
	}
	body = body[:length]
	var d Declaration
	if err := json.Unmarshal(body, &d); err != nil || d.Tools == nil || d.Hooks == nil {
		return Declaration{}, 0, ErrCorruptDeclaration
	}
	// Only the exact bytes that this package writes are a declaration: one meaning, one form.
	again, err := d.json()
	if err != nil || !bytes.Equal(again, body) {
		return Declaration{}, 0, ErrCorruptDeclaration
	}
	return d, whole, nil
}
