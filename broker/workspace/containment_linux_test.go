package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/loomext/loomext/internal/wire"
)

func TestTheKernelsCallIsUsedWhereItIs(t *testing.T) {
	w, _ := begin(t, Options{})
	fd, err := openat2(unix.AT_FDCWD, ".", unix.O_PATH, 0)
	if err != nil {
		t.Skip("this kernel has no openat2, or a filter forbids it: ", err)
	}
	_ = unix.Close(fd)
	if _, is := w.tree.(*beneath); !is {
		t.Errorf("the tree is a %T", w.tree)
	}
	w, _ = begin(t, Options{portable: true})
	if _, is := w.tree.(*rooted); !is {
		t.Errorf("with the option the tree is a %T", w.tree)
	}
}

func TestALinkLeadsNowhereElse(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		outside := filepath.Join(filepath.Dir(dir), "outside")
		put(t, outside, map[string]string{"secret": "text", "d/secret": "text"})
		put(t, dir, map[string]string{"a/b/file": "text"})
		link(t, outside, dir, "absolute")
		link(t, "../outside", dir, "relative")
		link(t, "../../../outside", dir, "a/b/deep")
		link(t, "/proc/self/cwd", dir, "magic")
		link(t, "/proc/self/root", dir, "root")
		link(t, "/proc/self/fd", dir, "fds")
		link(t, "relative", dir, "twice")
		link(t, dir, dir, "home") // beneath, and absolute all the same
		link(t, filepath.Join(outside, "secret"), dir, "secret")
		link(t, "../../outside/secret", dir, "a/secret")
		before := disk(t, filepath.Dir(dir))
		for _, path := range []string{
			"absolute/secret", "relative/secret", "relative/d/secret", "a/b/deep/secret", "magic/secret", "root/etc/passwd", "fds/0", "twice/secret",
			"home/a/b/file", "secret", "a/secret", "absolute", "relative", "magic", "root", "twice", "home",
		} {
			for op, err := range calls(w, path) {
				if op == "write" || op == "edit" {
					refused(t, op+" "+path, err, wire.CodeWrongKind, "link")
				} else if got := code(err); got != wire.CodeWrongKind && got != wire.CodePermissionDenied {
					t.Errorf("%s %s: %v", op, path, err)
				}
				if err == nil || strings.Contains(err.Error(), outside) || strings.Contains(err.Error(), dir) {
					t.Errorf("%s %s: %v", op, path, err)
				}
			}
		}
		if after := disk(t, filepath.Dir(dir)); !maps.Equal(before, after) {
			t.Errorf("the tree is %v; it was %v", after, before)
		}
	})
}

func TestALinkThatStaysIsFollowedForReadingAlone(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		put(t, dir, map[string]string{"a/b/file": "text", "top": "text"})
		link(t, "a/b", dir, "short")
		link(t, "../../top", dir, "a/b/up")
		link(t, "a/b/file", dir, "file")
		link(t, "loop", dir, "loop")
		link(t, "missing", dir, "broken")
		ctx := context.Background()
		for _, path := range []string{"short/file", "a/b/up", "short/up", "file"} {
			if text, err := w.Read(ctx, path); text != "text" || err != nil {
				t.Errorf("%s: %q, %v", path, text, err)
			}
			refused(t, "write "+path, w.Write(ctx, path, "x"), wire.CodeWrongKind, "nothing is written through links")
			refused(t, "edit "+path, w.Edit(ctx, path, []Edit{{"text", "x"}}), wire.CodeWrongKind, "nothing is written through links")
		}
		if entries, err := w.List(ctx, "short"); err != nil || len(entries) != 2 {
			t.Errorf("%v, %v", entries, err)
		}
		refused(t, "new through a link", w.Write(ctx, "short/new", "x"), wire.CodeWrongKind, "link")
		refused(t, "new below a link", w.Write(ctx, "short/new/er", "x"), wire.CodeWrongKind, "link")
		refused(t, "through a broken link", w.Write(ctx, "broken", "x"), wire.CodeWrongKind, "link")
		refused(t, "a loop", w.Write(ctx, "loop/x", "x"), wire.CodeWrongKind, "link")
		_, err := w.Read(ctx, "broken")
		refused(t, "broken", err, wire.CodeNotFound, "nothing is there")
		_, err = w.Read(ctx, "loop")
		refused(t, "loop", err, wire.CodeWrongKind, "circles")
		if _, err := os.Lstat(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
			t.Error("it was written through a link")
		}
	})
}

func TestWhatIsNoFileIsRefusedWithoutWaiting(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		if err := errors.Join(unix.Mkfifo(filepath.Join(dir, "pipe"), 0o666), os.Mkdir(filepath.Join(dir, "dir"), 0o755)); err != nil {
			t.Fatal(err)
		}
		socket, err := net.Listen("unix", filepath.Join(dir, "sock"))
		if err != nil {
			t.Fatal(err)
		}
		defer socket.Close()
		names := []string{"pipe", "dir", "sock"}
		for name, device := range map[string]uint64{"null": unix.Mkdev(1, 3), "tty": unix.Mkdev(5, 0)} {
			if err := unix.Mknod(filepath.Join(dir, name), unix.S_IFCHR|0o666, int(device)); err != nil {
				t.Logf("no device can be made here, so none is tried: %v", err)
				continue
			}
			names = append(names, name)
		}
		for _, name := range names {
			for op, err := range calls(w, name) {
				if op == "list" && name == "dir" {
					continue
				}
				refused(t, op+" "+name, err, wire.CodeWrongKind, "")
			}
			if err := w.Write(context.Background(), name+"/x", ""); name != "dir" {
				refused(t, "below "+name, err, wire.CodeWrongKind, "no directory")
			}
		}
		if err := w.Edit(context.Background(), "dir", []Edit{{"a", "b"}}); code(err) != wire.CodeWrongKind || !strings.Contains(err.Error(), "directory") {
			t.Error(err)
		}
	})
}

func TestAHardLinkIsReadAndNeverWrittenThrough(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		outside := filepath.Join(filepath.Dir(dir), "outside")
		put(t, filepath.Dir(dir), map[string]string{"outside": "text"})
		for _, name := range []string{"a", "b"} {
			if err := os.Link(outside, filepath.Join(dir, name)); err != nil {
				t.Skip("this disk makes no hard links: ", err)
			}
		}
		ctx := context.Background()
		if text, err := w.Read(ctx, "a"); text != "text" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		if err := errors.Join(w.Write(ctx, "a", "written"), w.Edit(ctx, "b", []Edit{{"text", "edited"}})); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(outside); string(text) != "text" || err != nil {
			t.Errorf("outside there is %q, %v", text, err)
		}
	})
}

func TestAMountLeadsNowhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	put(t, dir, map[string]string{"tmp/x": "", "bound/x": "", "proc/x": "", "file": "text"})
	put(t, filepath.Dir(dir), map[string]string{"outside/secret": "text", "outside/file": "text"})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), mountVariable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if exit, is := errors.AsType[*exec.ExitError](err); err != nil && (!is || exit.ExitCode() == cannotMount) {
		t.Skipf("no file system can be mounted here: %v\n%s", err, out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

const cannotMount = 77

// amongMounts mounts in a workspace and calls across. It says what got through.
func amongMounts(dir string) int {
	outside := filepath.Join(filepath.Dir(dir), "outside")
	err := errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("tmpfs", filepath.Join(dir, "tmp"), "tmpfs", 0, ""),
		unix.Mount(outside, filepath.Join(dir, "bound"), "", unix.MS_BIND, ""),
		unix.Mount("proc", filepath.Join(dir, "proc"), "proc", 0, ""),
		unix.Mount(filepath.Join(outside, "file"), filepath.Join(dir, "file"), "", unix.MS_BIND, ""),
		os.WriteFile(filepath.Join(dir, "tmp/secret"), []byte("text"), 0o644),
	)
	if err != nil {
		fmt.Println(err)
		return cannotMount
	}
	failed := 0
	for _, o := range []Options{{}, {portable: true}} {
		w, err := Open(dir, o)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		paths := []string{"tmp", "tmp/secret", "proc", "proc/self", "proc/1/root/etc", "proc/1/cwd", "proc/self/environ"}
		if !o.portable { // os.Root cannot tell a mount of the same disk
			paths = append(paths, "tmp/new", "bound", "bound/secret", "bound/new", "file")
		}
		for _, path := range paths {
			for op, err := range calls(w, path) {
				if got := code(err); got != wire.CodePermissionDenied && got != wire.CodeWrongKind {
					fmt.Printf("%+v: %s %s: %v\n", o, op, path, err)
					failed = 1
				}
			}
		}
	}
	for _, path := range []string{"tmp/secret", "bound/secret", "file"} {
		if text, err := os.ReadFile(filepath.Join(dir, path)); string(text) != "text" {
			fmt.Printf("%s is %q now, %v\n", path, text, err)
			failed = 1
		}
	}
	return failed
}

// To open a device, or a pipe that somebody waits at, can do something to it. What is no file is told without that.
func TestWhatIsNoFileIsNotOpened(t *testing.T) {
	each(t, func(t *testing.T, o Options) {
		w, dir := begin(t, o)
		put(t, dir, map[string]string{"file": "text"})
		pipe := filepath.Join(dir, "pipe")
		if err := unix.Mkfifo(pipe, 0o666); err != nil {
			t.Fatal(err)
		}
		watch, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
		if err != nil {
			t.Skip(err)
		}
		defer unix.Close(watch)
		opened := func(path string) bool {
			if _, err := unix.InotifyAddWatch(watch, path, unix.IN_OPEN); err != nil {
				t.Fatal(err)
			}
			for op, err := range calls(w, filepath.Base(path)) {
				if path == pipe {
					refused(t, op, err, wire.CodeWrongKind, "")
				}
			}
			n, err := unix.Read(watch, make([]byte, 4096))
			return err == nil && n > 0
		}
		if opened(pipe) {
			t.Error("the pipe was opened")
		}
		if !opened(filepath.Join(dir, "file")) {
			t.Error("the control: a file was not")
		}
	})
}
