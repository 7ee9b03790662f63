package workspace

import (
	"bytes"
	"context"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// accessListOf is an access list as the kernel keeps it: the owner may read and write, another user and the group as given, others nothing.
func accessListOf(user, group uint16) []byte {
	const version, noID, stranger = 2, 1<<32 - 1, 4321
	list := binary.LittleEndian.AppendUint32(nil, version)
	for _, entry := range []struct {
		tag, perm uint16
		id        uint32
	}{{1, 6, noID}, {2, user, stranger}, {4, group, noID}, {0x10, user | group, noID}, {0x20, 0, noID}} {
		list = binary.LittleEndian.AppendUint16(list, entry.tag)
		list = binary.LittleEndian.AppendUint16(list, entry.perm)
		list = binary.LittleEndian.AppendUint32(list, entry.id)
	}
	return list
}

func changes(t *testing.T, w *Workspace) {
	t.Helper()
	ctx := context.Background()
	if err := w.Write(ctx, "d/file", "written"); err != nil {
		t.Fatal(err)
	}
	if err := w.Edit(ctx, "d/file", []Edit{{"written", "edited"}}); err != nil {
		t.Fatal(err)
	}
}

func TestAChangeLetsInNobodyByTheListOfItsDirectory(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		put(t, dir, map[string]string{"d/file": "text"})
		file := filepath.Join(dir, "d/file")
		if err := os.Chmod(file, 0o660); err != nil {
			t.Fatal(err)
		}
		if err := unix.Setxattr(filepath.Join(dir, "d"), "system.posix_acl_default", accessListOf(6, 6), 0); err != nil {
			t.Skip("this disk keeps no access lists: ", err)
		}
		changes(t, w)
		if size, err := unix.Getxattr(file, accessList, nil); err != unix.ENODATA {
			t.Errorf("it has a list of %d bytes, %v", size, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode() != 0o660 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	})
}

func TestAChangeKeepsAnAccessList(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		put(t, dir, map[string]string{"d/file": "text"})
		file, list := filepath.Join(dir, "d/file"), accessListOf(6, 0)
		if err := unix.Setxattr(file, accessList, list, 0); err != nil {
			t.Skip("this disk keeps no access lists: ", err)
		}
		changes(t, w)
		got := make([]byte, maxList)
		size, err := unix.Getxattr(file, accessList, got)
		if err != nil || !bytes.Equal(got[:size], list) {
			t.Errorf("%x, %v; want %x", got[:max(size, 0)], err, list)
		}
	})
}

func TestAChangeKeepsTheGroupOrGivesItNothing(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives a file to a group that it is not in")
	}
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		put(t, dir, map[string]string{"d/file": "text"})
		file := filepath.Join(dir, "d/file")
		if err := os.Chown(file, -1, 4321); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, 0o664); err != nil {
			t.Fatal(err)
		}
		changes(t, w)
		info, err := os.Stat(file)
		if err != nil || info.Mode() != 0o664 || info.Sys().(*syscall.Stat_t).Gid != 4321 {
			t.Errorf("%v, %v", info, err)
		}
	})
}

func TestAGroupThatCannotBeKeptHasWhatOthersHave(t *testing.T) {
	for perm, want := range map[fs.FileMode]fs.FileMode{0o660: 0o600, 0o664: 0o644, 0o666: 0o666, 0o640: 0o600, 0o604: 0o604, 0o775: 0o755, 0o611: 0o611} {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, nil, perm); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, perm); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		err = (&former{info, noAccess}).grant(f)
		_ = f.Close()
		if info, is := os.Stat(path); err != nil || is != nil || info.Mode() != want {
			t.Errorf("%v is %v, want %v: %v", perm, info.Mode(), want, err)
		}
	}
}
