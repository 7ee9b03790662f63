package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// writing is what a function of another package writes to.
type writing struct {
	receiver bool
	at       int  // the argument, or -1
	rest     bool // the arguments after it as well
	room     bool // only into the room behind a slice
	deep     bool // also what stands in it
}

func (m writing) none() bool { return m.at < 0 }

// writers are the functions of the seam that change what an argument refers to, by the number of that. A "+" is for the
// arguments after it as well, a "*" for what stands in it too. A method is written path.Type.Name.
var writers = functions(map[string]string{
	"0": `slices.Sort slices.SortFunc slices.SortStableFunc slices.Reverse slices.Delete slices.DeleteFunc slices.Compact
		slices.CompactFunc slices.Replace maps.Copy maps.DeleteFunc maps.Insert
		sort.Sort sort.Stable sort.Slice sort.SliceStable sort.Ints sort.Strings sort.Float64s
		container/heap.Init container/heap.Push container/heap.Pop container/heap.Fix container/heap.Remove
		encoding/hex.Decode encoding/hex.Encode encoding/ascii85.Decode encoding/ascii85.Encode
		encoding/binary.Encode encoding/binary.PutUvarint encoding/binary.PutVarint
		encoding/base32.Encoding.Decode encoding/base32.Encoding.Encode encoding/base64.Encoding.Decode encoding/base64.Encoding.Encode
		crypto/rand.Read math/rand.Read crypto/subtle.XORBytes unicode/utf8.EncodeRune unicode/utf16.EncodeRune
		math/big.Int.FillBytes
		sync/atomic.AddInt32 sync/atomic.AddInt64 sync/atomic.AddUint32 sync/atomic.AddUint64
		sync/atomic.AndInt32 sync/atomic.AndInt64 sync/atomic.AndUint32 sync/atomic.AndUint64
		sync/atomic.OrInt32 sync/atomic.OrInt64 sync/atomic.OrUint32 sync/atomic.OrUint64
		sync/atomic.StoreInt32 sync/atomic.StoreInt64 sync/atomic.StoreUint32 sync/atomic.StoreUint64
		sync/atomic.SwapInt32 sync/atomic.SwapInt64 sync/atomic.SwapUint32 sync/atomic.SwapUint64
		sync/atomic.CompareAndSwapInt32 sync/atomic.CompareAndSwapInt64 sync/atomic.CompareAndSwapUint32 sync/atomic.CompareAndSwapUint64`,
	"0*": "encoding/json.Decoder.Decode encoding/xml.Decoder.Decode encoding/xml.Decoder.DecodeElement",
	"1":  "io.ReadFull io.ReadAtLeast errors.As crypto/subtle.ConstantTimeCopy",
	"1*": "encoding/json.Unmarshal encoding/xml.Unmarshal",
	"1+": "fmt.Sscan fmt.Sscanln fmt.Fscan fmt.Fscanln",
	"2":  "encoding/binary.Read encoding/binary.Decode io.CopyBuffer",
	"2+": "fmt.Sscanf fmt.Fscanf",
	"-1": `sort.StringSlice.Sort sort.StringSlice.Swap sort.IntSlice.Sort sort.IntSlice.Swap sort.Float64Slice.Sort
		sort.Float64Slice.Swap sort.Interface.Swap container/heap.Interface.Push container/heap.Interface.Pop`,
})

// writingMethods are names under which methods of any type change what they are called on, and readingMethods those that
// write to their first argument.
var (
	writingMethods = []string{"UnmarshalJSON", "UnmarshalText", "UnmarshalBinary", "UnmarshalXML", "UnmarshalXMLAttr", "Scan", "GobDecode"}
	readingMethods = []string{"Read", "ReadAt"}
)

// copiers give back something new that holds what stood in what they got.
var copiers = set(`bytes.Clone slices.Clone slices.Collect slices.Concat slices.Repeat slices.Sorted slices.SortedFunc
	slices.SortedStableFunc maps.Clone maps.Collect`)

// givers give back what their package keeps for everybody.
var givers = set("time.Time.Location time.FixedZone hash/crc32.MakeTable hash/crc64.MakeTable regexp/syntax.Compile")

// makers give back what they make, and what a method Token of the extension gives them.
var makers = set("encoding/xml.Decoder.Token encoding/xml.Decoder.RawToken")

// wrappers are the packages that give back errors which they were given.
var wrappers = set("context errors fmt")

// splitters give back parts of the slice that they got.
var splitters = set("slices.Chunk")

func set(names string) map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(names) {
		all[name] = true
	}
	return all
}

func functions(lists map[string]string) map[string]writing {
	all := map[string]writing{}
	for how, names := range lists {
		m := writing{rest: strings.HasSuffix(how, "+"), deep: strings.HasSuffix(how, "*")}
		m.at, _ = strconv.Atoi(strings.TrimRight(how, "+*"))
		m.receiver = m.at < 0
		for name := range strings.FieldsSeq(names) {
			all[name] = m
		}
	}
	return all
}

// nameOf is a function as the lists have it.
func nameOf(fn *types.Func) string {
	if fn.Pkg() == nil {
		return ""
	}
	name := fn.Name()
	if recv := fn.Signature().Recv(); recv != nil {
		t := types.Unalias(recv.Type())
		if p, ok := t.(*types.Pointer); ok {
			t = types.Unalias(p.Elem())
		}
		if named, ok := t.(*types.Named); ok {
			name = named.Obj().Name() + "." + name
		}
	}
	return fn.Pkg().Path() + "." + name
}

// writes is what a function of another package writes to.
func (w *flow) writes(fn *types.Func) writing {
	none := writing{at: -1}
	if w.c.own(fn.Pkg()) || fn.Pkg() == nil {
		return none
	}
	if m, ok := writers[nameOf(fn)]; ok {
		return m
	}
	sig := fn.Signature()
	switch method := sig.Recv() != nil; {
	case method && slices.Contains(writingMethods, fn.Name()):
		return writing{receiver: true, at: -1}
	case method && slices.Contains(readingMethods, fn.Name()) && sig.Params().Len() > 0:
		return writing{}
	case nameOf(fn) == "slices.Insert", nameOf(fn) == "image/draw.Quantizer.Quantize", strings.HasPrefix(fn.Name(), "Append") && sig.Params().Len() > 0, method && fn.Name() == "Sum":
		return writing{room: true}
	}
	return none
}

// plainError reports whether a value of a call is an error that another package made, which holds nothing that it was given.
func (w *flow) plainError(call *ast.CallExpr, n int) bool {
	fn, ok := w.calledObject(call).(*types.Func)
	if !ok || fn.Pkg() == nil || w.c.own(fn.Pkg()) || ofInterface(fn) || wrappers[fn.Pkg().Path()] {
		return false
	}
	results := fn.Signature().Results()
	return n < results.Len() && types.Identical(results.At(n).Type(), types.Universe.Lookup("error").Type())
}
