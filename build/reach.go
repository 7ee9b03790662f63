package build

import (
	"debug/elf"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// reach is what a build has to read of a toolchain: GOROOT, and what lies outside it that GOROOT leads to. Distributions
// split it: Debian's sources and headers are links from /usr/lib/go-1.26 to /usr/share, others keep their commands
// elsewhere. The names that are looked at are those that a build uses and that may be links; below them, links stay inside.
func (t Toolchain) reach() []string {
	return outermost(append(t.parts(), t.libraries()...))
}

// parts is reach without the system's libraries.
func (t Toolchain) parts() []string {
	tools := t.toolDir()
	all := []string{t.GoRoot}
	for _, name := range []string{
		"VERSION", "go.env", "lib", "src",
		"bin", filepath.Join("bin", "go"+exeSuffix()),
		"pkg", filepath.Join("pkg", "include"), filepath.Join("pkg", "tool"),
		tools, filepath.Join(tools, "asm"+exeSuffix()), filepath.Join(tools, "compile"+exeSuffix()), filepath.Join(tools, "link"+exeSuffix()),
	} {
		if outside := t.leave(filepath.Join(t.GoRoot, name)); outside != "" {
			all = append(all, outside)
		}
	}
	return outermost(all)
}

// closed names a file of the toolchain that only its owner may read or execute, which is why a build of user 0 fails: the
// compiler runs as a user that owns nothing. It is nil where there is no such file, and for everybody else.
func (t Toolchain) closed() error {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, part := range t.parts() {
		err := filepath.WalkDir(part, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.Type()&fs.ModeSymlink != 0 {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			need := fs.FileMode(0o004)
			if info.Mode()&0o100 != 0 {
				need |= 0o001
			}
			if info.Mode()&need != need {
				return &Error{
					Place: path,
					What:  "builds do not run as root, and this file of the Go installation is for its owner alone",
					Fix:   "chmod -R go+rX " + part + ", or name another go command",
				}
			}
			return nil
		})
		if closed, ok := err.(*Error); ok {
			return closed
		}
	}
	return nil
}

// maxLinks is where the kernel gives up as well.
const maxLinks = 40

// leave is the first name outside GOROOT that a link in it leads to, as it stands in the link: in the build's own tree that
// name must be there, and what is behind it, links and all, is looked up when it is put there. It is "" where the link
// stays inside, ends nowhere or leads to a directory that GOROOT is in, which would let a build read far too much.
func (t Toolchain) leave(link string) string {
	for range maxLinks {
		to, err := os.Readlink(link)
		if err != nil {
			return ""
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(link), to)
		}
		link = filepath.Clean(to)
		if !below(link, t.GoRoot) {
			if _, err := os.Stat(link); err != nil || below(t.GoRoot, link) {
				return ""
			}
			return link
		}
	}
	return ""
}

// loaderDirs are where the C library and its loader are on systems that have a place for them.
var loaderDirs = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64"}

// libraries is nothing for the Go project's own toolchains, whose programs are static. Some distributions link theirs
// against the C library: then a build reads the system's libraries too, and the directory of the loader that the programs
// name.
func (t Toolchain) libraries() []string {
	var loaders []string
	for _, program := range t.programs() {
		if loader := interpreter(program); loader != "" {
			loaders = append(loaders, filepath.Dir(loader))
		}
	}
	if len(loaders) == 0 {
		return nil
	}
	all := loaders
	for _, dir := range loaderDirs {
		if _, err := os.Stat(dir); err == nil {
			all = append(all, dir)
		}
	}
	return all
}

// interpreter is the loader that an ELF program asks the kernel for, or "". A file that is no ELF program has none to
// ask for, and is refused by whoever starts it.
func interpreter(program string) string {
	f, err := elf.Open(program)
	if err != nil {
		return ""
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, min(p.Filesz, maxLoader))
		if _, err := p.ReadAt(name, 0); err != nil {
			return ""
		}
		if loader := strings.TrimRight(string(name), "\x00"); filepath.IsAbs(loader) {
			return filepath.Clean(loader)
		}
	}
	return ""
}

// maxLoader is the longest path that the kernel takes.
const maxLoader = 4096

// outermost sorts paths and leaves out those that are below another.
func outermost(paths []string) []string {
	slices.Sort(paths)
	var kept []string
	for _, p := range slices.Compact(paths) {
		if !slices.ContainsFunc(kept, func(k string) bool { return below(p, k) }) {
			kept = append(kept, p)
		}
	}
	return kept
}

func below(path, dir string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}
