package build

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"runtime"
)

// CheckELF refuses a file that is not a static executable for this machine. A program interpreter or a dynamic section
// would load code of the machine it runs on before the first instruction of ours; the linker is told to make neither, and
// this looks whether it did.
func CheckELF(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return &Error{Place: outputName, What: "the built file is no ELF executable: " + err.Error(), Fix: "build it again", Err: err}
	}
	defer f.Close()
	return CheckProgram(f)
}

// CheckProgram is CheckELF for a program that is not, or no longer, a file.
func CheckProgram(program io.ReaderAt) error {
	refuse := func(what string) error {
		return &Error{
			Place: outputName,
			What:  what,
			Fix:   "look for //go:cgo_ directives in the extension's source",
		}
	}
	f, err := elf.NewFile(program)
	if err != nil {
		return refuse("the built file is no ELF executable: " + err.Error())
	}
	defer f.Close()
	if want, ok := machines[runtime.GOARCH]; !ok || f.Machine != want {
		return refuse(fmt.Sprintf("the built file is for %v, and this machine is %s", f.Machine, runtime.GOARCH))
	}
	if f.Type != elf.ET_EXEC {
		return refuse(fmt.Sprintf("the built file is of type %v; a static executable is ET_EXEC", f.Type))
	}
	loads := false
	for _, p := range f.Progs {
		switch p.Type {
		case elf.PT_INTERP:
			return refuse("the built file asks for a program interpreter, so it is not static")
		case elf.PT_DYNAMIC:
			return refuse("the built file has a dynamic section, so it is not static")
		case elf.PT_LOAD:
			loads = true
			if p.Flags&(elf.PF_W|elf.PF_X) == elf.PF_W|elf.PF_X {
				return refuse("the built file has a segment that is both writable and executable")
			}
		}
	}
	if !loads {
		return refuse("the built file loads nothing")
	}
	for _, s := range f.Sections {
		if s.Type == elf.SHT_DYNAMIC {
			return refuse("the built file has a dynamic section, so it is not static")
		}
	}
	return nil
}

var machines = map[string]elf.Machine{
	"386": elf.EM_386, "amd64": elf.EM_X86_64, "arm": elf.EM_ARM, "arm64": elf.EM_AARCH64, "loong64": elf.EM_LOONGARCH,
	"ppc64": elf.EM_PPC64, "ppc64le": elf.EM_PPC64, "riscv64": elf.EM_RISCV, "s390x": elf.EM_S390,
}
