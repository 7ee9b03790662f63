package wire

import (
	"math/bits"
	"strconv"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// body reads the body of a frame whose kind and id are known.
func (d *decoder) body(f *Frame) error {
	switch f.Kind {
	case KindHookCall, KindHookResult, KindCapCall, KindCapResult, KindCancel, KindHeartbeat, KindOutcome:
	default: // a later version's kind: the body must be well formed, whatever is in it
		return within("body", d.value(new(Value), payloadDepth))
	}
	var err error
	if !d.side.reads(f.Kind) {
		return refuse(RuleWay, string(f.Kind)+" may not arrive at "+d.side.String())
	}
	switch f.Kind {
	case KindHookCall:
		if f.ID < 1 {
			return refuse(RuleID, "hook_call: id is "+strconv.FormatInt(f.ID, 10)+"; ids start at 1")
		}
		err = d.hookCall(&f.Call)
	case KindCapCall:
		err = d.capCall(&f.Cap)
	case KindHookResult, KindCapResult:
		err = d.result(&f.Result)
	case KindCancel, KindHeartbeat:
		err = d.empty()
	}
	return within(string(f.Kind), err)
}

// String names the side in a refusal.
func (s Side) String() string {
	switch s {
	case Host:
		return "a host"
	case Satellite:
		return "a satellite"
	}
	return "no side"
}

// fields reads a body's fields in whatever order they come. Whether all of them came is for the
// caller to ask.
func (d *decoder) fields(names []string, read func(field int) error) (shape, error) {
	m, err := d.open(bodyDepth, names, d.side != Satellite)
	if err != nil {
		return m, err
	}
	for {
		field, ok, err := m.next()
		if err != nil || !ok {
			return m, err
		}
		if err := read(field); err != nil {
			return m, within(names[field], err)
		}
	}
}

var hookCallFields = []string{"token", "kind", "name", "args", "deadline_ms"}

func (d *decoder) hookCall(c *HookCall) error {
	m, err := d.fields(hookCallFields, func(field int) (err error) {
		switch field {
		case 0:
			c.Token, err = d.bin()
		case 1:
			c.Kind, err = d.callKind()
		case 2:
			c.Name, err = d.word()
		case 3:
			err = d.value(&c.Args, bodyDepth)
		case 4:
			c.DeadlineMS, err = d.int()
		}
		return err
	})
	if err != nil {
		return err
	}
	return m.whole()
}

var capCallFields = []string{"token", "cap", "args", "deadline_ms"}

func (d *decoder) capCall(c *CapCall) error {
	m, err := d.fields(capCallFields, func(field int) (err error) {
		switch field {
		case 0:
			c.Token, err = d.bin()
		case 1:
			c.Cap, err = d.word()
		case 2:
			if err = d.expect(classMap); err == nil {
				err = d.value(&c.Args, bodyDepth)
			}
		case 3:
			c.DeadlineMS, err = d.int()
		}
		return err
	})
	if err != nil {
		return err
	}
	return m.whole()
}

var resultFields = []string{"ok", "value", "error"}

const (
	fieldOK = iota
	fieldValue
	fieldError
)

func (d *decoder) result(r *Result) error {
	var fault Value
	m, err := d.fields(resultFields, func(field int) (err error) {
		switch field {
		case fieldOK:
			r.OK, err = d.bool()
		case fieldValue:
			err = d.value(&r.Value, bodyDepth)
		case fieldError:
			err = d.value(&fault, bodyDepth)
		}
		return err
	})
	if err != nil {
		return err
	}
	want, other := fieldValue, fieldError
	if !r.OK {
		want, other = fieldError, fieldValue
	}
	if err := m.need(1<<fieldOK | 1<<want); err != nil {
		return err
	}
	if m.strict && m.seen&(1<<other) != 0 {
		return errExtra([]byte(resultFields[other]))
	}
	if r.OK {
		return nil
	}
	r.Value = Value{}
	return within("error", d.fault(&r.Fault, fault))
}

// fault reads {code, msg} out of a decoded value. Failures are rare, so they may take the longer way.
func (d *decoder) fault(f *Fault, v Value) error {
	fields, ok := v.AsMap()
	if !ok {
		return refuse(RuleBody, "is "+v.Type().article()+"; want a map")
	}
	for _, name := range []string{"code", "msg"} {
		text, ok := v.Get(name)
		if !ok {
			return refuse(RuleBody, name+" is missing")
		}
		s, ok := text.AsString()
		if !ok {
			return refuse(RuleBody, name+": is "+text.Type().article()+"; want a str")
		}
		if name == "code" {
			f.Code = s
		} else {
			f.Msg = s
		}
	}
	if d.side != Satellite {
		for _, field := range fields {
			if field.Key != "code" && field.Key != "msg" {
				return errExtra([]byte(field.Key))
			}
		}
	}
	return nil
}

// article is the type's name in a sentence.
func (t Type) article() string {
	switch t {
	case TypeNil:
		return "nil"
	case TypeInt:
		return "an int"
	}
	return "a " + t.String()
}

func (d *decoder) empty() error {
	m, err := d.open(bodyDepth, nil, d.side != Satellite)
	if err != nil {
		return err
	}
	_, _, err = m.next()
	return err
}

// word reads a str that is kept as a string.
func (d *decoder) word() (string, error) {
	b, err := d.str()
	return string(b), err
}

func (d *decoder) callKind() (string, error) {
	b, err := d.str()
	switch string(b) {
	case CallTool:
		return CallTool, err
	case CallEvent:
		return CallEvent, err
	}
	return string(b), err
}

// shape walks a map of known fields. It answers for its keys: each at most once, and none but the known ones where it is
// strict. Where it is not, a foreign entry must be well formed and is passed over.
type shape struct {
	d      *decoder
	fields []string
	seen   uint
	left   int
	depth  int
	strict bool
	extra  keys
}

func (d *decoder) open(depth int, fields []string, strict bool) (shape, error) {
	n, err := d.mapLen(depth)
	return shape{d: d, fields: fields, left: n, depth: depth, strict: strict}, err
}

// next is the index of the next known field, whose value is to be read; not ok after the last.
func (m *shape) next() (int, bool, error) {
	if i, ok := m.expected(); ok {
		return i, true, nil
	}
	for ; m.left > 0; m.left-- {
		key, err := m.d.key()
		if err != nil {
			return 0, false, err
		}
		if i := m.index(key); i >= 0 {
			if m.seen&(1<<i) != 0 {
				return 0, false, refuse(RuleDuplicate, quote(key)+" comes twice")
			}
			m.seen |= 1 << i
			m.left--
			return i, true, nil
		}
		if m.strict {
			return 0, false, errExtra(key)
		}
		if m.extra == nil {
			m.extra = make(keys)
		}
		if m.extra.twice(nil, string(key)) {
			return 0, false, refuse(RuleDuplicate, quote(key)+" comes twice")
		}
		if err := m.d.value(new(Value), m.depth); err != nil {
			return 0, false, within(quote(key), err)
		}
	}
	return 0, false, nil
}

// expected is next where the key is, byte for byte, what a writer that keeps the order of the fields puts there.
func (m *shape) expected() (int, bool) {
	i := bits.OnesCount(m.seen)
	if m.left == 0 || i >= len(m.fields) || m.seen != 1<<i-1 {
		return 0, false
	}
	name, rest := m.fields[i], m.d.buf[m.d.off:]
	if len(name) > fixStr || len(rest) <= len(name) || rest[0] != msgpcode.FixedStrLow|byte(len(name)) || string(rest[1:1+len(name)]) != name {
		return 0, false
	}
	m.d.off += 1 + len(name)
	m.seen |= 1 << i
	m.left--
	return i, true
}

func (m *shape) index(key []byte) int {
	for i, name := range m.fields {
		if string(key) == name {
			return i
		}
	}
	return -1
}

// whole is a refusal that names the first field that never came.
func (m *shape) whole() error { return m.need(1<<len(m.fields) - 1) }

func (m *shape) need(fields uint) error {
	if missing := fields &^ m.seen; missing != 0 {
		return refuse(RuleBody, m.fields[bits.TrailingZeros(missing)]+" is missing")
	}
	return nil
}

func errExtra(key []byte) error { return refuse(RuleBody, quote(key)+" is no field of it") }
