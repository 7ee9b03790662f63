package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// elfFacts is what the headers of an ELF file say. Its JSON shape is documented in
// docs/cli.md.
type elfFacts struct {
	Class       string   `json:"class"`       // "64-bit"
	Machine     string   `json:"machine"`     // "x86-64"
	Type        string   `json:"type"`        // "executable"
	Entry       string   `json:"entry"`       // hexadecimal address
	Static      bool     `json:"static"`      // no interpreter, no dynamic segment
	Interpreter bool     `json:"interpreter"` // PT_INTERP: the kernel would start another program first
	Dynamic     bool     `json:"dynamic"`     // PT_DYNAMIC: it asks for libraries
	ExecStack   bool     `json:"exec_stack"`  // PT_GNU_STACK asks for an executable stack, or is missing
	WriteExec   bool     `json:"write_exec"`  // a segment is writable and executable at once
	Segments    []string `json:"segments"`    // "LOAD r-x 1232896"
}

// The parts of the format that are read. The headers of a foreign file are decoded here by
// hand, in bounded memory, because debug/elf does not promise to withstand them.
const (
	elfHeaderLen  = 64 // of a 64-bit file
	elfSegmentLen = 56
	// maxSegments is far above what a linker makes (Go: 6 to 10).
	maxSegments = 64

	ptLoad, ptDynamic, ptInterp, ptNote = 1, 2, 3, 4
	ptTLS, ptPHDR                       = 7, 6
	ptGNUStack                          = 0x6474e551

	pfExec, pfWrite, pfRead = 1, 2, 4
)

var errNoELF = errors.New("it is no 64-bit ELF executable")

// readELF reads the file header and the program headers: what a kernel reads. The order of
// the bytes is the file's own.
func readELF(r io.ReaderAt) (elfFacts, error) {
	var head [elfHeaderLen]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		if errors.Is(err, io.EOF) {
			err = errNoELF
		}
		return elfFacts{}, err
	}
	if string(head[:4]) != "\x7fELF" || head[4] != 2 {
		return elfFacts{}, errNoELF
	}
	var order binary.ByteOrder
	switch head[5] {
	case 1:
		order = binary.LittleEndian
	case 2:
		order = binary.BigEndian
	default:
		return elfFacts{}, errNoELF
	}
	facts := elfFacts{
		Class: "64-bit", Type: elfTypeName(order.Uint16(head[16:])), Machine: machineName(order.Uint16(head[18:])),
		Entry: fmt.Sprintf("0x%x", order.Uint64(head[24:])), Segments: []string{}, ExecStack: true,
	}
	table, size, count := order.Uint64(head[32:]), order.Uint16(head[54:]), int(order.Uint16(head[56:]))
	switch {
	case size != elfSegmentLen && count > 0:
		return elfFacts{}, fmt.Errorf("its program headers have %d bytes each, not %d", size, elfSegmentLen)
	case count > maxSegments:
		return elfFacts{}, fmt.Errorf("it has %d program headers, more than %d", count, maxSegments)
	case table > 1<<62:
		return elfFacts{}, errors.New("its program headers are outside the file")
	}
	segments := make([]byte, count*elfSegmentLen)
	if _, err := r.ReadAt(segments, int64(table)); err != nil && count > 0 {
		return elfFacts{}, errors.New("its program headers are outside the file")
	}
	for ; len(segments) > 0; segments = segments[elfSegmentLen:] {
		facts.segment(order.Uint32(segments), order.Uint32(segments[4:]), order.Uint64(segments[32:]))
	}
	facts.Static = !facts.Interpreter && !facts.Dynamic
	return facts, nil
}

// segment notes one program header.
func (f *elfFacts) segment(kind, flags uint32, fileBytes uint64) {
	name := ""
	switch kind {
	case ptLoad:
		name = "LOAD"
		f.WriteExec = f.WriteExec || flags&pfWrite != 0 && flags&pfExec != 0
	case ptDynamic:
		name, f.Dynamic = "DYNAMIC", true
	case ptInterp:
		name, f.Interpreter = "INTERP", true
	case ptNote:
		name = "NOTE"
	case ptTLS:
		name = "TLS"
	case ptPHDR:
		name = "PHDR"
	case ptGNUStack:
		name = "GNU_STACK"
		f.ExecStack = flags&pfExec != 0
	default:
		name = fmt.Sprintf("0x%x", kind)
	}
	f.Segments = append(f.Segments, fmt.Sprintf("%s %s %d", name, permissions(flags), fileBytes))
}

func permissions(flags uint32) string {
	text := []byte("---")
	for i, bit := range []uint32{pfRead, pfWrite, pfExec} {
		if flags&bit != 0 {
			text[i] = "rwx"[i]
		}
	}
	return string(text)
}

func elfTypeName(t uint16) string {
	switch t {
	case 1:
		return "object"
	case 2:
		return "executable"
	case 3:
		return "shared or position-independent"
	case 4:
		return "core"
	}
	return fmt.Sprintf("0x%x", t)
}

func machineName(m uint16) string {
	switch m {
	case 62:
		return "x86-64"
	case 183:
		return "arm64"
	case 243:
		return "riscv"
	case 258:
		return "loong64"
	case 21:
		return "ppc64"
	case 22:
		return "s390x"
	}
	return fmt.Sprintf("0x%x", m)
}
