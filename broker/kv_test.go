package broker

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/loomext/loomext/internal/wire"
)

func set(i *Invocation, key string, value []byte) wire.Result {
	return serve(i, "kv.set", arg("key", wire.String(key)), arg("value", wire.Bin(value)))
}

func get(t *testing.T, i *Invocation, key string) (string, bool) {
	t.Helper()
	v := done(t, serve(i, "kv.get", arg("key", wire.String(key))))
	found, ok := mustGet(t, v, "found").AsBool()
	value, bin := mustGet(t, v, "value").AsBin()
	if !ok || !bin {
		t.Fatal("the answer is of another shape")
	}
	return string(value), found
}

func TestScratchLivesAsLongAsItsScope(t *testing.T) {
	b := newBroker(t, Options{})
	terms := Terms{Extension: "e", Requested: []string{"kv"}, Granted: []string{"kv"}}
	s := b.Open(terms, "s1")
	first := s.Begin(nil, nil)
	if _, found := get(t, first, "k"); found {
		t.Error("a new scope has values")
	}
	done(t, set(first, "k", []byte("v")))
	done(t, set(first, "empty", nil))
	first.End()
	second := s.Begin(nil, nil)
	if v, found := get(t, second, "k"); v != "v" || !found {
		t.Errorf("in the next invocation: %q, %v", v, found)
	}
	if v, found := get(t, second, "empty"); v != "" || !found {
		t.Errorf("an empty value: %q, %v", v, found)
	}
	for name, other := range map[string]*Scope{
		"another session": b.Open(terms, "s2"), "the same session, opened again": b.Open(terms, "s1"),
		"another extension": b.Open(Terms{Extension: "f", Requested: []string{"kv"}, Granted: []string{"kv"}}, "s1"),
	} {
		i := other.Begin(nil, nil)
		if v, found := get(t, i, "k"); found {
			t.Errorf("%s sees %q", name, v)
		}
		done(t, set(i, "k", []byte("other")))
		done(t, serve(i, "kv.delete", arg("key", wire.String("empty"))))
	}
	if v, _ := get(t, second, "k"); v != "v" {
		t.Errorf("another scope changed it to %q", v)
	}
	done(t, serve(second, "kv.delete", arg("key", wire.String("k"))))
	done(t, serve(second, "kv.delete", arg("key", wire.String("k"))))
	if _, found := get(t, second, "k"); found {
		t.Error("it is there after its deletion")
	}
}

func TestScratchKeepsCopies(t *testing.T) {
	i := open(t, Options{}, nil)
	frame := []byte("value")
	done(t, set(i, "k", frame))
	copy(frame, "XXXXX")
	out, _ := mustGet(t, done(t, serve(i, "kv.get", arg("key", wire.String("k")))), "value").AsBin()
	if string(out) != "value" {
		t.Errorf("it aliases the frame: %q", out)
	}
	copy(out, "YYYYY")
	if v, _ := get(t, i, "k"); v != "value" {
		t.Errorf("it aliases the answer: %q", v)
	}
}

func TestScratchIsBounded(t *testing.T) {
	i := open(t, Options{}, nil)
	long := strings.Repeat("k", maxKey)
	done(t, set(i, long, make([]byte, maxValue)))
	refusedWith(t, set(i, "", nil), wire.CodeInvalidArgument, "key is empty; want 1 to 256 bytes")
	refusedWith(t, set(i, long+"k", nil), wire.CodeTooLarge, "key has 257 bytes; at most 256")
	refusedWith(t, set(i, "k", make([]byte, maxValue+1)), wire.CodeTooLarge, "value has 262145 bytes; at most 262144")
	for _, name := range []string{"kv.get", "kv.delete"} {
		refusedWith(t, serve(i, name, arg("key", wire.String(long+"k"))), wire.CodeTooLarge, "key has 257 bytes")
	}
}

func TestScratchBytesAreCounted(t *testing.T) {
	i := open(t, Options{}, nil)
	full := maxScratch / maxValue
	for n := range full - 1 {
		done(t, set(i, fmt.Sprintf("%02d", n), make([]byte, maxValue)))
	}
	last := maxValue - 2*full // with all keys, exactly all that fits
	done(t, set(i, "zz", make([]byte, last)))
	refusedWith(t, set(i, "a", nil), wire.CodePolicy, "more than 4 MiB; delete some")
	refusedWith(t, set(i, "zz", make([]byte, last+1)), wire.CodePolicy, "more than 4 MiB")
	if v, _ := get(t, i, "zz"); len(v) != last {
		t.Error("a refused value changed what was there")
	}
	done(t, set(i, "zz", make([]byte, last-1))) // smaller always goes
	done(t, set(i, "a", nil))
	done(t, serve(i, "kv.delete", arg("key", wire.String("a"))))
	done(t, set(i, "zz", bytes.Repeat([]byte("z"), last)))
	if held := i.scope.scratch.held; held != maxScratch {
		t.Errorf("counted %d; want %d", held, maxScratch)
	}
}

func TestScratchKeysAreCounted(t *testing.T) {
	i := open(t, Options{}, nil)
	for n := range maxKeys {
		done(t, set(i, fmt.Sprint(n), nil))
	}
	refusedWith(t, set(i, "one more", nil), wire.CodePolicy, "1000 keys")
	done(t, set(i, "7", []byte("changed")))
	done(t, serve(i, "kv.delete", arg("key", wire.String("7"))))
	done(t, set(i, "one more", nil))
}
