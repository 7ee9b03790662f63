package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/loomext/loomext/build"
	"github.com/loomext/loomext/install"
)

const (
	// needsGo is the oldest Go that a build takes; the root of a build says the same.
	needsGo = "go1.26"
	// leastSpace is what the file system of the cache must have free: a build's own files and
	// its satellite come to some 20 MiB, the first fill of a cache to 150 MiB.
	leastSpace = 64 << 20
	// othersMayWrite are the bits of a mode by which a group or everyone may write.
	othersMayWrite = 0o022
)

func (e *examination) checkToolchain(ctx context.Context) (string, error) {
	t, err := build.Probe(ctx, e.builder.Go)
	if err != nil {
		return "", err
	}
	e.result.Toolchain = &doctorToolchain{Go: t.Go, GoRoot: t.GoRoot, Version: t.Version, Needs: needsGo}
	return fmt.Sprintf("%s at %s (%s or newer is needed)", t.Version, t.Go, needsGo), nil
}

func (e *examination) checkCache() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", &advice{what: "there is no cache directory: " + err.Error(), fix: "set XDG_CACHE_HOME, or HOME"}
	}
	dir := filepath.Join(user, "loomext")
	if !filepath.IsAbs(dir) {
		return "", &advice{what: dir + " is not an absolute path", fix: "set XDG_CACHE_HOME to one"}
	}
	e.result.Cache.Dir = dir
	e.builder.Cache = dir
	found, err := examine(dir)
	e.result.Cache.FreeBytes = found.free
	if err != nil {
		return "", err
	}
	if found.sized && found.free < leastSpace {
		return "", &advice{what: fmt.Sprintf("%s has %s free", dir, spaceText(found.free)), fix: "free at least " + bytesText(leastSpace) + ", or set XDG_CACHE_HOME to a place that has it"}
	}
	detail := dir
	if found.sized {
		detail += ", " + spaceText(found.free) + " free"
	}
	return detail + found.note(", made by the first build"), nil
}

func (e *examination) checkStore(ctx context.Context) (string, error) {
	home := e.store.Home()
	e.result.Store.Home = home
	found, err := examine(home)
	if err != nil {
		return "", err
	}
	entries, err := e.store.List()
	if err != nil {
		return "", err
	}
	var faults []string
	for _, entry := range entries {
		installed, err := e.store.Load(ctx, entry.Name)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.Is(err, install.ErrNotInstalled): // removed since
			continue
		case err != nil:
			e.result.Store.Damaged = append(e.result.Store.Damaged, entry.Name)
			faults = append(faults, err.Error())
		default:
			_ = installed.Close()
		}
		e.result.Store.Extensions++
	}
	if len(faults) > 0 {
		return "", &advice{
			what: fmt.Sprintf("%s: %d of %d extensions cannot be used:\n%s", home, len(faults), e.result.Store.Extensions, strings.Join(faults, "\n")),
			fix:  "install them again, or remove them",
		}
	}
	detail := fmt.Sprintf("%s, %d extensions", home, e.result.Store.Extensions)
	return detail + found.note(", made by the first install"), nil
}

// place is what was found of a directory that loomext keeps things in.
type place struct {
	missing bool // it is not there yet and can be made
	free    int64
	sized   bool // free is known
}

func (p place) note(ifMissing string) string {
	if p.missing {
		return ifMissing
	}
	return ""
}

// examine wants a directory that this user can write to and nobody else can, or the way to
// make one. It leaves nothing behind.
func examine(dir string) (place, error) {
	var p place
	there := dir
	for {
		info, err := os.Stat(there)
		if err == nil {
			if !info.IsDir() {
				return p, &advice{what: there + " is no directory", fix: "move it away"}
			}
			break
		}
		absent := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		if !absent || there == filepath.Dir(there) {
			return p, &advice{what: err.Error(), fix: "make it reachable, or name another place"}
		}
		if _, err := os.Lstat(there); err == nil {
			return p, &advice{what: there + " is a link to what is not there", fix: "remove it"}
		}
		p.missing = true
		there = filepath.Dir(there)
	}
	p.free, p.sized = freeBytes(there)
	if err := tryWrite(there); err != nil {
		return p, &advice{what: there + " cannot be written to: " + err.Error(), fix: "make it writable for this user, or name another place"}
	}
	if p.missing {
		return p, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return p, &advice{what: err.Error(), fix: "make it readable"}
	}
	if err := ownAlone(dir); err != nil {
		return p, err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := ownAlone(filepath.Join(dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return p, err
			}
		}
	}
	return p, nil
}

// ownAlone refuses a directory that another user could have written to.
func ownAlone(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner, known := ownerOf(info); known && owner != os.Geteuid() {
		return &advice{what: fmt.Sprintf("%s belongs to user %d, and loomext runs as user %d", dir, owner, os.Geteuid()), fix: "run loomext as the user that it belongs to, or name another place"}
	}
	if mode := info.Mode().Perm(); mode&othersMayWrite != 0 {
		return &advice{what: fmt.Sprintf("%s can be written by others (mode %04o)", dir, mode), fix: "chmod go-w " + dir + ", after a look at what is in it"}
	}
	return nil
}
