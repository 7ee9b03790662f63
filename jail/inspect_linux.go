//go:build amd64 || arm64

package jail

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"
)

// Inspect is what a satellite gets on this machine, found by launching one that
// ends at once, behind every wall that can stand here. Where nothing can be
// launched, the layer that failed says why and all are skipped.
//
// The answer is kept for the life of the process: the walls of a launch depend on the machine
// and on the host, which do not change under it.
func Inspect() Report {
	r := inspected()
	return Report{Level: r.Level, Layers: slices.Clone(r.Layers)}
}

var inspected = sync.OnceValue(func() Report { return inspect(Options{BestEffort: true}) })

const (
	// inspectPatience bounds a launch that takes a millisecond.
	inspectPatience = 20 * time.Second
	// inspectBudget stands for the memory a satellite is given: the layer that
	// holds it to the amount is there with any.
	inspectBudget = 64 << 20
)

func inspect(o Options) Report {
	ctx, cancel := context.WithTimeout(context.Background(), inspectPatience)
	defer cancel()
	image, err := sealReader(bytes.NewReader(leastProgram(arch)))
	if err != nil {
		return refusedReport(err)
	}
	defer image.Close()
	c, err := Start(ctx, Spec{
		Path: "/" + imageName, Image: image, Profile: Satellite, Limits: Limits{DataBytes: DataFloor + inspectBudget},
	}, o)
	if err != nil {
		return refusedReport(err)
	}
	exit, err := c.Wait()
	if err == nil && !exit.OK() {
		err = &Error{Place: "start", What: "the least of programs ended with " + exit.String()}
	}
	if err != nil {
		return refusedReport(err)
	}
	return c.Report()
}

// refusedReport is of a machine where nothing could be launched.
func refusedReport(err error) Report {
	var fault *Error
	if !errors.As(err, &fault) {
		fault = &Error{Place: "start", What: err.Error(), Err: err}
	}
	failed := Layer{Name: fault.Place, State: Skipped, Reason: fault.What, Errno: errnoName(fault.Err), Remedy: fault.Fix}
	if failed.Remedy == "" {
		failed.Remedy = remedyFor(fault.Place, fault.Err)
	}
	var r Report
	found := false
	for _, s := range steps {
		layer := Layer{Name: s.name, State: Skipped, Reason: "nothing could be started"}
		if s.name == fault.Place {
			layer, found = failed, true
		}
		r.Layers = append(r.Layers, layer)
	}
	if !found {
		r.Layers = append(r.Layers, failed)
	}
	return r
}

// The headers of an ELF file of 64 bits, as far as a static program needs them.
type (
	elfHeader struct {
		Ident                       [16]byte
		Type, Machine               uint16
		Version                     uint32
		Entry, Segments, Sections   uint64
		Flags                       uint32
		HeaderSize, SegmentSize     uint16
		SegmentCount, SectionSize   uint16
		SectionCount, SectionsNames uint16
	}
	elfSegment struct {
		Type, Flags                     uint32
		Offset, Virtual, Physical       uint64
		FileSize, MemorySize, Alignment uint64
	}
)

// leastProgram is a static program that makes one system call, exit_group(0).
func leastProgram(goarch string) []byte {
	if goarch == "arm64" {
		return staticProgram(goarch, []byte{
			0x00, 0x00, 0x80, 0xd2, // mov x0, #0
			0xc8, 0x0b, 0x80, 0xd2, // mov x8, #94
			0x01, 0x00, 0x00, 0xd4, // svc #0
		})
	}
	return staticProgram(goarch, []byte{
		0x31, 0xff, // xor edi, edi
		0xb8, 0xe7, 0x00, 0x00, 0x00, // mov eax, 231
		0x0f, 0x05, // syscall
	})
}

// staticProgram is the file of a program that is its code and nothing else.
func staticProgram(goarch string, code []byte) []byte {
	const (
		base      = 0x400000
		alignment = 0x10000 // of the largest pages
		headers   = 64 + 2*56

		executable, amd64, arm64   = 2, 62, 183
		load, stack                = 1, 0x6474e551
		execute, write, read       = 1, 2, 4
		class64, littleEndian, one = 2, 1, 1
	)
	machine := uint16(amd64)
	if goarch == "arm64" {
		machine = arm64
	}
	size := uint64(headers + len(code))
	var b bytes.Buffer
	for _, part := range []any{
		elfHeader{
			Ident: [16]byte{0x7f, 'E', 'L', 'F', class64, littleEndian, one},
			Type:  executable, Machine: machine, Version: one,
			Entry: base + headers, Segments: 64, HeaderSize: 64, SegmentSize: 56, SegmentCount: 2,
		},
		elfSegment{Type: load, Flags: read | execute, Virtual: base, FileSize: size, MemorySize: size, Alignment: alignment},
		elfSegment{Type: stack, Flags: read | write}, // no executable stack
		code,
	} {
		_ = binary.Write(&b, binary.LittleEndian, part) // a buffer takes all
	}
	return b.Bytes()
}
