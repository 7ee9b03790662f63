package main

import (
	"bytes"
	"encoding/binary"
	"runtime"
)

// smallProgram is a static program that writes a line to descriptor 2 and ends
// as an attempt that escaped does.
func smallProgram() []byte {
	const base, headers = 0x400000, 64 + 56
	line := "escaped: executed a memory file\n"
	machine, code := uint16(62), []byte{ // x86-64
		0x31, 0xff, 0xff, 0xc7, 0xff, 0xc7, // edi = 2
		0x48, 0x8d, 0x35, 26, 0, 0, 0, // rsi = the line, 26 bytes on
		0xba, byte(len(line)), 0, 0, 0, // edx = its length
		0xb8, 1, 0, 0, 0, 0x0f, 0x05, // write
		0xbf, statusEscaped, 0, 0, 0, // edi
		0xb8, 231, 0, 0, 0, 0x0f, 0x05, // exit_group
		0x90, 0x90,
	}
	if runtime.GOARCH == "arm64" {
		machine, code = 183, nil
		for _, word := range []uint32{
			0xd2800040,                        // mov x0, 2
			0x10000001 | 7<<5,                 // adr x1, the line, 7 words on
			0xd2800002 | uint32(len(line))<<5, // mov x2, its length
			0xd2800808, 0xd4000001,            // write
			0xd2800000 | uint32(statusEscaped)<<5, // mov x0
			0xd2800bc8, 0xd4000001,                // exit_group
		} {
			code = binary.LittleEndian.AppendUint32(code, word)
		}
	}
	size := uint64(headers + len(code) + len(line))
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	for _, field := range []any{
		uint16(2), machine, uint32(1), uint64(base + headers), uint64(64), uint64(0), // an executable; its entry; its segments
		uint32(0), uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(0x1000), // one segment, read and execute
	} {
		_ = binary.Write(&b, binary.LittleEndian, field)
	}
	b.Write(code)
	b.WriteString(line)
	return b.Bytes()
}
