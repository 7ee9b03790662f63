package wire

import "strconv"

// Depths of the two maps every frame has. What a body holds nests below them.
const (
	payloadDepth = 1
	bodyDepth    = 2
)

// Decode decodes one payload, a frame's bytes after its length, as the side reads it. It is total: every refusal is a
// [*ProtocolError]. A well-formed frame of a kind that this version does not know comes back with that kind and its id alone;
// a reader drops it. The frame aliases the payload.
func Decode(payload []byte, side Side) (Frame, error) {
	d := decoders.Get().(*decoder)
	f, err := d.frame(payload, side)
	decoders.Put(d)
	return f, err
}

var envelopeFields = []string{"v", "id", "kind", "body"}

const (
	fieldV = iota
	fieldID
	fieldKind
	fieldBody
)

func (d *decoder) frame(payload []byte, side Side) (f Frame, err error) {
	if len(payload) > MaxFrame {
		return Frame{}, errLength(uint64(len(payload)))
	}
	d.buf, d.off, d.side, d.values = payload, 0, side, MaxValues
	err = d.payload(&f)
	d.buf, d.off = nil, 0
	if err != nil {
		return Frame{}, err
	}
	return f, nil
}

func errLength(n uint64) error {
	return refuse(RuleLength, "a payload of "+strconv.FormatUint(n, 10)+" bytes; at most "+strconv.Itoa(MaxFrame)+" fit a frame")
}

// payload reads the map {v, id, kind, body}. A body that comes last, as every body of ours does, is read where it stands;
// one that comes sooner is checked, passed over, and read once it is known what it is.
func (d *decoder) payload(f *Frame) error {
	var version int64
	var early []byte // a body that came before it was known what it is
	var budget int   // d.values before it
	m, err := d.open(payloadDepth, envelopeFields, true)
	if err != nil {
		return envelope(err)
	}
	for {
		field, ok, err := m.next()
		if err != nil {
			return envelope(err)
		}
		if !ok {
			break
		}
		switch field {
		case fieldV:
			version, err = d.int()
		case fieldID:
			f.ID, err = d.int()
		case fieldKind:
			err = d.kind(f)
		case fieldBody:
			if err = d.expect(classMap); err != nil {
				break
			}
			if m.seen == 1<<fieldV|1<<fieldID|1<<fieldKind|1<<fieldBody {
				if version != Version {
					return errVersion(version)
				}
				if err := d.body(f); err != nil {
					return err
				}
				break
			}
			start := d.off
			budget = d.values
			err = d.value(new(Value), payloadDepth)
			early = d.buf[start:d.off]
		}
		if err != nil {
			return envelope(within(envelopeFields[field], err))
		}
	}
	if err := m.whole(); err != nil {
		return envelope(err)
	}
	if d.left() > 0 {
		return refuse(RuleTrailing, strconv.Itoa(d.left())+" bytes follow the payload map")
	}
	if version != Version {
		return errVersion(version)
	}
	if early == nil {
		return nil
	}
	d.buf, d.off, d.values = early, 0, budget
	return d.body(f)
}

func errVersion(v int64) error {
	return refuse(RuleVersion, "v is "+strconv.FormatInt(v, 10)+"; this end speaks "+strconv.Itoa(Version))
}

// envelope makes a refusal one of the payload map, where what was refused is a field's type or presence.
func envelope(err error) error {
	if e, ok := err.(*ProtocolError); ok && e.Rule == RuleBody {
		e.Rule = RuleEnvelope
	}
	return within("payload", err)
}

func (d *decoder) kind(f *Frame) error {
	text, err := d.str()
	if err != nil {
		return err
	}
	kind, ok := known(text)
	if !ok {
		kind = Kind(text)
	}
	f.Kind = kind
	return nil
}
