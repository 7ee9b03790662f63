package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// madeELF is the least file with the given segments, as (type, flags) pairs.
func madeELF(order binary.ByteOrder, segments ...[2]uint32) []byte {
	head := make([]byte, elfHeaderLen)
	copy(head, "\x7fELF\x02\x01\x01")
	if order == binary.ByteOrder(binary.BigEndian) {
		head[5] = 2
	}
	order.PutUint16(head[16:], 2)
	order.PutUint16(head[18:], 62)
	order.PutUint64(head[24:], 0x401000)
	order.PutUint64(head[32:], elfHeaderLen)
	order.PutUint16(head[54:], elfSegmentLen)
	order.PutUint16(head[56:], uint16(len(segments)))
	for _, segment := range segments {
		entry := make([]byte, elfSegmentLen)
		order.PutUint32(entry, segment[0])
		order.PutUint32(entry[4:], segment[1])
		order.PutUint64(entry[32:], 4096)
		head = append(head, entry...)
	}
	return head
}

func TestReadELF(t *testing.T) {
	code, stack := [2]uint32{ptLoad, pfRead | pfExec}, [2]uint32{ptGNUStack, pfRead | pfWrite}
	tests := []struct {
		name     string
		segments [][2]uint32
		want     func(elfFacts) bool
	}{
		{"static", [][2]uint32{code, stack}, func(f elfFacts) bool { return f.Static && !f.ExecStack && !f.WriteExec }},
		{"interpreter", [][2]uint32{code, stack, {ptInterp, pfRead}}, func(f elfFacts) bool { return !f.Static && f.Interpreter }},
		{"libraries", [][2]uint32{code, stack, {ptDynamic, pfRead}}, func(f elfFacts) bool { return !f.Static && f.Dynamic }},
		{"writable code", [][2]uint32{{ptLoad, 7}, stack}, func(f elfFacts) bool { return f.WriteExec }},
		{"executable stack", [][2]uint32{code, {ptGNUStack, 7}}, func(f elfFacts) bool { return f.ExecStack }},
		{"no word on the stack", [][2]uint32{code}, func(f elfFacts) bool { return f.ExecStack }},
		{"unknown segments", [][2]uint32{{0x12345, 4}}, func(f elfFacts) bool { return f.Segments[0] == "0x12345 r-- 4096" }},
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, tt := range tests {
			t.Run(tt.name+" "+order.String(), func(t *testing.T) {
				facts, err := readELF(bytes.NewReader(madeELF(order, tt.segments...)))
				if err != nil {
					t.Fatal(err)
				}
				if !tt.want(facts) || facts.Machine != "x86-64" || facts.Type != "executable" || facts.Entry != "0x401000" {
					t.Errorf("%+v", facts)
				}
			})
		}
	}
}

func TestReadELFRefuses(t *testing.T) {
	good := madeELF(binary.LittleEndian, [2]uint32{ptLoad, 5})
	change := func(at int, bytes ...byte) []byte {
		changed := slices.Clone(good)
		copy(changed[at:], bytes)
		return changed
	}
	for name, data := range map[string][]byte{
		"nothing":              nil,
		"text":                 []byte(strings.Repeat("#!/bin/sh\n", 10)),
		"half a header":        good[:40],
		"32 bits":              change(4, 1),
		"no byte order":        change(5, 3),
		"odd segment size":     change(54, 57),
		"too many segments":    change(56, 0xff, 0xff),
		"segments cut off":     good[:len(good)-1],
		"segments far outside": change(32, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
		"segments outside":     change(32, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f),
	} {
		if facts, err := readELF(bytes.NewReader(data)); err == nil {
			t.Errorf("%s: %+v, want an error", name, facts)
		}
	}
}

func TestReadELFOfThisTest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the test binary is no ELF file")
	}
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	facts, err := readELF(f)
	if err != nil {
		t.Fatal(err)
	}
	if facts.WriteExec || facts.ExecStack || !slices.ContainsFunc(facts.Segments, func(s string) bool { return strings.HasPrefix(s, "LOAD r-x") }) {
		t.Errorf("%+v", facts)
	}
}

func FuzzReadELF(f *testing.F) {
	f.Add(madeELF(binary.LittleEndian, [2]uint32{ptLoad, 5}, [2]uint32{ptInterp, 4}))
	f.Add(madeELF(binary.BigEndian, [2]uint32{ptGNUStack, 6}))
	f.Fuzz(func(t *testing.T, data []byte) {
		facts, err := readELF(bytes.NewReader(data))
		if err == nil && facts.Static == (facts.Interpreter || facts.Dynamic) {
			t.Errorf("static and not: %+v", facts)
		}
	})
}
