package replay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/loomext/loomext/internal/wire"
	"github.com/loomext/loomext/record"
)

// EffectChange is how an effect differs from the record.
type EffectChange string

// The changes. One that is changed has the same capability and other arguments than one that the record has and that was
// not asked for again.
const (
	EffectNew     EffectChange = "new"
	EffectGone    EffectChange = "gone"
	EffectChanged EffectChange = "changed"
)

// EffectDiff is one effect that differs. Was is nil where it is new, Now where it is gone.
type EffectDiff struct {
	Change   EffectChange
	Cap      string
	Was, Now *wire.Value // the arguments
}

// unanswered is what an effect is told that the record does not have.
var unanswered = wire.Fault{Code: wire.CodeUnavailable, Msg: "the record has no answer to this effect, and a replay performs none"}

// few is how many effects are looked through one by one. Most invocations have no more, and need no index then.
const few = 16

// deck are the effects that the record has for one invocation.
type deck struct {
	mu    sync.Mutex
	all   []recorded             // in the order in which they began
	index map[string][]*recorded // by capability and arguments, in that order; nil where there are few
	held  bool                   // there is one whose context ended first
	fresh []fresh
	lost  error // why an answer could not be read
}

type recorded struct {
	cap   string
	args  wire.Value
	ok    bool
	value record.Value // where ok; read when it is asked for, for all of them together may be long
	fault wire.Fault   // where not
	used  bool
}

type fresh struct {
	cap  string
	args wire.Value
}

// maxArguments is how many bytes the arguments of the effects of one invocation may have together: they are held at once.
// Sixteen of the longest frames are more than an honest invocation sends.
const maxArguments = 16 * wire.MaxFrame

// deal reads the effects of an entry.
func deal(entry *record.Entry) (*deck, error) {
	held := 0
	d := &deck{all: make([]recorded, len(entry.Effects))}
	effects := entry.Effects
	if !slices.IsSortedFunc(effects, byBegin) {
		effects = slices.Clone(effects)
		slices.SortStableFunc(effects, byBegin)
	}
	for i, e := range effects {
		args, err := e.Args.Wire()
		if err != nil {
			return nil, err
		}
		if held += int(e.Args.Bytes()); held > maxArguments {
			return nil, fmt.Errorf("its effects have arguments of more than %d MiB, which a replay does not hold", maxArguments>>20)
		}
		d.all[i] = recorded{cap: e.Cap, args: args, ok: e.OK, value: e.Value, fault: e.Fault}
		d.held = d.held || outlasted(e.Fault)
	}
	if len(d.all) > few {
		d.index = map[string][]*recorded{}
		for i := range d.all {
			key := keyOf(d.all[i].cap, d.all[i].args)
			d.index[key] = append(d.index[key], &d.all[i])
		}
	}
	return d, nil
}

func byBegin(a, b record.Effect) int { return cmp.Compare(a.Began, b.Began) }

// answer gives what the record has for an effect. One whose time ran out, that was called off, or that its invocation did
// not wait for, is under way until that comes again: an extension that gave up on it is to do so again.
func (d *deck) answer(ctx context.Context, capability string, args wire.Value) wire.Result {
	result := d.take(capability, args)
	if outlasted(result.Fault) {
		<-ctx.Done()
	}
	return result
}

// outlasted says of an effect that its context ended first.
func outlasted(f wire.Fault) bool { return f.Code == wire.CodeCancelled || f.Code == wire.CodeDeadline }

// prompt says that no answer has to be waited for.
func (d *deck) prompt(string) bool { return !d.held }

func (d *deck) take(capability string, args wire.Value) wire.Result {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.next(capability, args); r != nil {
		r.used = true
		return d.result(r)
	}
	d.fresh = append(d.fresh, fresh{capability, args})
	return wire.Result{Fault: unanswered}
}

// result reads what an effect was answered. The lock is held.
func (d *deck) result(r *recorded) wire.Result {
	if !r.ok {
		return wire.Result{Fault: r.fault}
	}
	value, err := r.value.Wire()
	if err != nil {
		d.lost = err
		return wire.Result{Fault: unanswered}
	}
	return wire.Result{OK: true, Value: value}
}

// unread is why an answer could not be read, or nil.
func (d *deck) unread() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

// next is the first effect that is alike and was not asked for yet, or nil. The lock is held.
func (d *deck) next(capability string, args wire.Value) *recorded {
	if d.index != nil {
		key := keyOf(capability, args)
		left := d.index[key]
		if len(left) == 0 {
			return nil
		}
		d.index[key] = left[1:]
		return left[0]
	}
	for i := range d.all {
		if r := &d.all[i]; !r.used && r.cap == capability && same(r.args, args) {
			return r
		}
	}
	return nil
}

// differences pairs what was not asked for with what the record did not have, by capability and in order.
func (d *deck) differences() []EffectDiff {
	d.mu.Lock()
	defer d.mu.Unlock()
	var diffs []EffectDiff
	news := slices.Clone(d.fresh)
	for i := range d.all {
		r := &d.all[i]
		if r.used {
			continue
		}
		diff := EffectDiff{Change: EffectGone, Cap: r.cap, Was: &r.args}
		if at := slices.IndexFunc(news, func(f fresh) bool { return f.cap == r.cap }); at >= 0 {
			diff.Change, diff.Now = EffectChanged, &news[at].args
			news = append(slices.Clone(news[:at]), news[at+1:]...)
		}
		diffs = append(diffs, diff)
	}
	for _, f := range news {
		diffs = append(diffs, EffectDiff{Change: EffectNew, Cap: f.cap, Now: &f.args})
	}
	return diffs
}

// keyOf is the same for two effects that are alike. The order of a map's keys means nothing.
func keyOf(capability string, args wire.Value) string {
	return string(appendKey(append([]byte(capability), 0), args))
}

// same says of two values that they are equal. As for keyOf, the order of a map's keys means nothing, and a float is its bits.
func same(a, b wire.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	switch a.Type() {
	case wire.TypeString:
		x, _ := a.AsText()
		y, _ := b.AsText()
		return bytes.Equal(x, y)
	case wire.TypeBin:
		x, _ := a.AsBin()
		y, _ := b.AsBin()
		return bytes.Equal(x, y)
	case wire.TypeList:
		x, _ := a.AsList()
		y, _ := b.AsList()
		return slices.EqualFunc(x, y, same)
	case wire.TypeMap:
		x, _ := a.AsMap()
		y, _ := b.AsMap()
		return slices.EqualFunc(x, y, sameField) || slices.EqualFunc(sorted(x), sorted(y), sameField)
	}
	var x, y [maxScalar]byte
	return bytes.Equal(appendKey(x[:0], a), appendKey(y[:0], b))
}

// maxScalar has place for the key of what is neither text nor made of others.
const maxScalar = 1 + 8

func sameField(a, b wire.Field) bool { return a.Key == b.Key && same(a.Value, b.Value) }

func sorted(fields []wire.Field) []wire.Field {
	if slices.IsSortedFunc(fields, byKey) {
		return fields
	}
	return slices.SortedFunc(slices.Values(fields), byKey)
}

// appendKey appends a value so that two are equal where what is appended is.
func appendKey(dst []byte, v wire.Value) []byte {
	dst = append(dst, byte(v.Type()))
	switch v.Type() {
	case wire.TypeBool:
		if b, _ := v.AsBool(); b {
			return append(dst, 1)
		}
		return append(dst, 0)
	case wire.TypeInt:
		n, _ := v.AsInt()
		return binary.BigEndian.AppendUint64(dst, uint64(n))
	case wire.TypeFloat:
		f, _ := v.AsFloat()
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(f))
	case wire.TypeString:
		text, _ := v.AsText()
		return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	case wire.TypeBin:
		b, _ := v.AsBin()
		return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
	case wire.TypeList:
		list, _ := v.AsList()
		dst = binary.AppendUvarint(dst, uint64(len(list)))
		for _, item := range list {
			dst = appendKey(dst, item)
		}
		return dst
	case wire.TypeMap:
		fields, _ := v.AsMap()
		dst = binary.AppendUvarint(dst, uint64(len(fields)))
		for _, f := range sorted(fields) {
			dst = append(binary.AppendUvarint(dst, uint64(len(f.Key))), f.Key...)
			dst = appendKey(dst, f.Value)
		}
	}
	return dst
}

func byKey(a, b wire.Field) int { return cmp.Compare(a.Key, b.Key) }
