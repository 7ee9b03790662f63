package source

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Nothing here may wait: opening a pipe without a writer would.
func TestDevicesPipesAndSockets(t *testing.T) {
	dir := onDisk(t, with(tree{"assets/x": "", "lib/l.go": ""}))
	for _, at := range []string{"pipe", "tool/pipe.go", "schema/pipe", "only/pipe.go"} {
		must(t, os.MkdirAll(filepath.Dir(dir+"/"+at), 0o755))
		must(t, syscall.Mkfifo(dir+"/"+at, 0o644))
	}
	sock, err := net.Listen("unix", dir+"/lib/s.go")
	must(t, err)
	defer sock.Close()
	want := []string{"pipe", "tool/pipe.go", "schema/pipe", "only/pipe.go", "lib/s.go"}
	if err := unix.Mknod(dir+"/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err == nil {
		want = append(want, "null")
	}
	_, err = Open(t.Context(), dir)
	for _, at := range want {
		wantRefused(t, err, at, "a device, a pipe or a socket")
	}
	for _, at := range want {
		must(t, os.RemoveAll(dir+"/"+at))
	}
	must(t, os.RemoveAll(dir+"/only"))
	for _, at := range []string{"assets/pipe", ".pipe", "docs", "tool/x_test.go"} {
		must(t, syscall.Mkfifo(dir+"/"+at, 0o644))
	}
	if _, err := Open(t.Context(), dir); err != nil {
		t.Errorf("a pipe in a pruned place gave %v", err)
	}
}

// A file and a directory are exchanged all the time for links, pipes and other files while the tree is read. Whatever
// comes of a read, no byte from outside is ever in it, and it never waits.
func TestExchangedWhileRead(t *testing.T) {
	const good, secret = "package tool // the author's\n", "package secret // from outside\n"
	outside := onDisk(t, tree{"x.go": secret})
	dir := onDisk(t, with(tree{"tool/x.go": good, "lib/x.go": good, ".hidden": secret}))
	spare := onDisk(t, tree{"good.go": good, "dir/x.go": good})
	must(t, os.Symlink(outside+"/x.go", spare+"/out"))
	must(t, os.Symlink("../.hidden", spare+"/in"))
	must(t, os.Symlink(outside, spare+"/outdir"))
	must(t, syscall.Mkfifo(spare+"/pipe", 0o644))

	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, other := range []string{"out", "in", "pipe", "good.go"} {
				unix.Renameat2(unix.AT_FDCWD, spare+"/"+other, unix.AT_FDCWD, dir+"/tool/x.go", unix.RENAME_EXCHANGE)
				unix.Renameat2(unix.AT_FDCWD, spare+"/"+other, unix.AT_FDCWD, dir+"/tool/x.go", unix.RENAME_EXCHANGE)
			}
			for range 2 {
				unix.Renameat2(unix.AT_FDCWD, spare+"/outdir", unix.AT_FDCWD, dir+"/lib", unix.RENAME_EXCHANGE)
			}
		}
	}()
	taken, refused := 0, 0
	for range 400 {
		got, err := Open(t.Context(), dir)
		if err != nil {
			refused++
			continue
		}
		taken++
		for _, p := range got.Paths() {
			if data, _ := got.File(p); strings.Contains(string(data), "outside") {
				t.Errorf("%s holds what is outside", p)
			}
		}
	}
	close(stop)
	<-done
	t.Logf("taken %d, refused %d", taken, refused)
	if refused == 0 {
		t.Error("the exchanges were never noticed; the test did not race")
	}
}
