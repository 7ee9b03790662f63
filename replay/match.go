package replay

import (
	"cmp"
	"context"
	"encoding/binary"
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

// deck are the effects that the record has for one invocation.
type deck struct {
	mu       sync.Mutex
	recorded map[string][]*recorded // by capability and arguments, in the order in which they began
	all      []*recorded
	held     bool // there is one whose context ended first
	fresh    []fresh
}

type recorded struct {
	cap    string
	args   wire.Value
	result wire.Result
	used   bool
}

type fresh struct {
	cap  string
	args wire.Value
}

// deal reads the effects of an entry.
func deal(entry *record.Entry) (*deck, error) {
	d := &deck{recorded: map[string][]*recorded{}}
	effects := slices.Clone(entry.Effects)
	slices.SortStableFunc(effects, func(a, b record.Effect) int { return cmp.Compare(a.Began, b.Began) })
	for _, e := range effects {
		args, err := e.Args.Wire()
		if err != nil {
			return nil, err
		}
		r := &recorded{cap: e.Cap, args: args, result: wire.Result{OK: e.OK, Fault: e.Fault}}
		if e.OK {
			if r.result.Value, err = e.Value.Wire(); err != nil {
				return nil, err
			}
		}
		d.held = d.held || outlasted(r.result.Fault)
		key := keyOf(e.Cap, args)
		d.recorded[key] = append(d.recorded[key], r)
		d.all = append(d.all, r)
	}
	return d, nil
}

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
	key := keyOf(capability, args)
	d.mu.Lock()
	defer d.mu.Unlock()
	if left := d.recorded[key]; len(left) > 0 {
		d.recorded[key] = left[1:]
		left[0].used = true
		return left[0].result
	}
	d.fresh = append(d.fresh, fresh{capability, args})
	return wire.Result{Fault: unanswered}
}

// differences pairs what was not asked for with what the record did not have, by capability and in order.
func (d *deck) differences() []EffectDiff {
	d.mu.Lock()
	defer d.mu.Unlock()
	var diffs []EffectDiff
	news := slices.Clone(d.fresh)
	for _, r := range d.all {
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

func same(a, b wire.Value) bool {
	return slices.Equal(appendKey(nil, a), appendKey(nil, b))
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
		if !slices.IsSortedFunc(fields, byKey) {
			fields = slices.SortedFunc(slices.Values(fields), byKey)
		}
		for _, f := range fields {
			dst = append(binary.AppendUvarint(dst, uint64(len(f.Key))), f.Key...)
			dst = appendKey(dst, f.Value)
		}
	}
	return dst
}

func byKey(a, b wire.Field) int { return cmp.Compare(a.Key, b.Key) }
