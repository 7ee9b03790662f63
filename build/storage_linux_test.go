package build

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of the given size, or skips.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("skipped layer: mount: a small disk needs root with CAP_SYS_ADMIN: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullDiskIsSaidAndLeavesNoPart(t *testing.T) {
	root, want := mustRoot(t, weather(nil))
	for _, size := range []string{"64k", "8m"} {
		t.Run(size, func(t *testing.T) {
			disk := smallDisk(t, size)
			cache := filepath.Join(disk, "cache")
			_, err := (&Builder{Cache: cache}).Build(context.Background(), root, want)
			if err == nil || !strings.Contains(err.Error(), "no space left on device") || !strings.Contains(err.Error(), "; free some room") {
				t.Errorf("got %v", err)
			}
			for _, part := range []string{artifactsDir, goCachesDir, stagingDir} {
				entries, err := os.ReadDir(filepath.Join(cache, part))
				if err != nil && !os.IsNotExist(err) {
					t.Error(err)
				}
				for _, e := range entries {
					t.Errorf("%s/%s was left behind", part, e.Name())
				}
			}
		})
	}
}

func TestReadOnlyCacheIsSaid(t *testing.T) {
	root, want := mustRoot(t, weather(nil))
	disk := smallDisk(t, "1m")
	if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("skipped layer: mount: the disk cannot be made read-only: %v", err)
	}
	_, err := (&Builder{Cache: filepath.Join(disk, "cache")}).Build(context.Background(), root, want)
	if err == nil || !strings.HasPrefix(err.Error(), "compile: the cache directory: ") || !strings.HasSuffix(err.Error(), "read-only file system; make it writable for you, or name another cache directory") {
		t.Errorf("got %v", err)
	}
}

func TestCacheThatCannotBeOne(t *testing.T) {
	root, want := mustRoot(t, weather(nil))
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for cache, wrong := range map[string]string{file: "not a directory", "relative/cache": "not an absolute path", "/proc/loomext": "the cache directory"} {
		if _, err := (&Builder{Cache: cache}).Build(context.Background(), root, want); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: got %v", cache, err)
		}
	}
}
