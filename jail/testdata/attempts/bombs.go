package main

import (
	"bytes"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Every bomb stops at the bound it is given, and has escaped when it gets there.
var _ = add(map[string]func() outcome{
	"heap-bomb":    heapBomb,
	"map-bomb":     func() outcome { return mapBomb(readWrite, private) },
	"shared-bomb":  func() outcome { return mapBomb(readWrite, shared) },
	"growing-bomb": growingBomb,
	"huge-bomb":    func() outcome { return mapBomb(readWrite, private|unix.MAP_HUGETLB) },
	"break-bomb":   breakBomb,
	"file-bomb":    memoryFileBomb,
	"hidden-bomb":  hiddenBomb,
	"table-bomb":   tableBomb,
	"sparse-bomb":  func() outcome { return spread(unix.PROT_READ) },
	"spread-bomb":  func() outcome { return spread(readWrite) },
	"guard-bomb":   guardBomb,
	"area-bomb":    areaBomb,
	"thread-bomb": func() outcome {
		return upTo("threads", func() (string, error) { return "clone", startThread(threadFlags) })
	},
	"runtime-thread-bomb": runtimeThreadBomb,
	"process-bomb":        processBomb,
	"descriptor-bomb":     descriptorBomb,
	"signal-bomb":         signalBomb,
	"stderr-flood":        stderrFlood,
	"frame-flood":         frameFlood,
	"processor-spin":      spin,
	"sleep":               sleepForever,
})

// upTo repeats until the count it is given.
func upTo(what string, act func() (string, error)) outcome {
	bound := number("count")
	for n := range bound {
		if where, err := act(); err != nil {
			return heldBecause(errorName(err) + " at " + where + " after " + strconv.Itoa(n) + " " + what)
		}
	}
	return escaped("reached %d %s", bound, what)
}

// mebibytes repeats once for each MiB of the bound.
func mebibytes(what string, act func() (string, error)) outcome {
	bound := number("mib")
	for n := range bound {
		if where, err := act(); err != nil {
			return heldBecause(errorName(err) + " at " + where + " after " + strconv.Itoa(n) + " MiB " + what)
		}
	}
	return escaped("reached %d MiB %s", bound, what)
}

const mib = 1 << 20

func heapBomb() outcome {
	var all [][]byte
	o := mebibytes("of heap", func() (string, error) {
		b := make([]byte, mib)
		for i := 0; i < len(b); i += page {
			b[i] = 1
		}
		all = append(all, b)
		return "", nil
	})
	runtime.KeepAlive(all)
	return o
}

// mapBomb touches memory that the Go heap knows nothing of.
func mapBomb(protection, flags uintptr) outcome {
	const step = 2 * mib // a huge page, where they are asked for
	odd := 0
	return mebibytes("of mappings", func() (string, error) {
		if odd ^= 1; odd == 0 {
			return "", nil
		}
		at, err := mapping(0, step, protection, flags)
		if err != nil {
			return "mmap", err
		}
		for i := uintptr(0); i < step; i += page {
			touch(at + i)
		}
		return "", nil
	})
}

// growingBomb maps stacks, which grow downward as they are touched and are
// counted as stacks.
func growingBomb() outcome {
	return mebibytes("of stacks", func() (string, error) {
		at, err := mapping(0, mib, readWrite, private|unix.MAP_GROWSDOWN)
		if err != nil {
			return "mmap", err
		}
		for i := uintptr(0); i < mib; i += page {
			touch(at + i)
		}
		return "", nil
	})
}

func breakBomb() outcome {
	end, err := call(unix.SYS_BRK, 0)
	if err != nil {
		return held("brk", err)
	}
	return mebibytes("of program break", func() (string, error) {
		got, err := call(unix.SYS_BRK, uintptr(end+mib))
		if err == nil && got < end+mib {
			err = unix.ENOMEM
		}
		if err != nil {
			return "brk", err
		}
		for i := 0; i < mib; i += page {
			touch(uintptr(end + i))
		}
		end = got
		return "", nil
	})
}

func memoryFileBomb() outcome {
	ignore(unix.SIGXFSZ)
	fd, err := call(unix.SYS_MEMFD_CREATE, cstring("bomb"), 0)
	if err != nil {
		return held("memfd_create", err)
	}
	block := make([]byte, mib)
	return mebibytes("of a memory file", func() (string, error) {
		_, err := write(fd, block)
		return "write", err
	})
}

// hiddenBomb makes what it wrote read-only: such memory is no longer counted as
// data, and stays.
func hiddenBomb() outcome {
	return mebibytes("made read-only", func() (string, error) {
		at, err := mapping(0, mib, readWrite, private)
		if err != nil {
			return "mmap", err
		}
		for i := uintptr(0); i < mib; i += page {
			touch(at + i)
		}
		_, err = call(unix.SYS_MPROTECT, at, mib, unix.PROT_READ)
		return "mprotect", err
	})
}

const (
	tableReach     = 2 << 20 // what one page of the lowest table covers
	directoryReach = 1 << 30 // what one page of the next table covers
	tablesPerMiB   = mib / page
)

// tableBomb reads one byte for each lowest page table over a large mapping that
// costs no memory itself.
func tableBomb() outcome {
	return mebibytes("of page tables", func() (string, error) {
		size := tablesPerMiB * tableReach
		at, err := mapping(0, size, unix.PROT_READ, private|unix.MAP_NORESERVE)
		if err != nil {
			return "mmap", err
		}
		for i := 0; i < size; i += tableReach {
			look(at + uintptr(i))
		}
		return "", nil
	})
}

// spread reads one byte of pages that lie so far apart that each needs two tables
// of its own. Of pages that cannot be written no limit counts even the page.
func spread(protection uintptr) outcome {
	at := uintptr(1) << 41
	return mebibytes("of page tables", func() (string, error) {
		for n := 0; n < tablesPerMiB/2; at += directoryReach {
			got, err := mapping(at, page, protection, private|unix.MAP_NORESERVE)
			if err != nil {
				return "mmap", err
			}
			if got != at { // the runtime's heap is there
				continue
			}
			look(at)
			n++
		}
		return "", nil
	})
}

// guardBomb has the kernel mark pages that cannot be touched, which fills tables
// over memory that no limit counts as data.
func guardBomb() outcome {
	const install = 102 // MADV_GUARD_INSTALL
	return mebibytes("of page tables", func() (string, error) {
		size := tablesPerMiB * tableReach
		at, err := mapping(0, size, unix.PROT_NONE, private|unix.MAP_NORESERVE)
		if err != nil {
			return "mmap", err
		}
		for i := 0; i < size; i += tableReach {
			if _, err := call(unix.SYS_MADVISE, at+uintptr(i), page, install); err != nil {
				return "madvise", err
			}
		}
		return "", nil
	})
}

// areaBomb splits memory into as many areas as it can; each costs the kernel.
func areaBomb() outcome {
	protection := uintptr(unix.PROT_NONE)
	return upTo("areas", func() (string, error) {
		protection ^= readWrite
		_, err := mapping(0, page, protection, private|unix.MAP_NORESERVE)
		return "mmap", err
	})
}

// runtimeThreadBomb has Go's runtime start the threads, which is the end of the
// process where it cannot.
func runtimeThreadBomb() outcome {
	bound := number("count")
	up := make(chan struct{})
	for range bound {
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread is this goroutine's
			up <- struct{}{}
			select {}
		}()
	}
	for range bound {
		<-up
	}
	return escaped("reached %d threads", bound)
}

// processBomb has children that sleep, and ends them.
func processBomb() outcome {
	var children []int
	o := upTo("processes", func() (string, error) {
		pid := sleeper(uintptr(unix.SIGCHLD), &longSleep) // which shares nothing
		if pid < 0 {
			return "clone", unix.Errno(-pid)
		}
		children = append(children, pid)
		return "", nil
	})
	for _, pid := range children {
		_, _ = call(unix.SYS_KILL, uintptr(pid), uintptr(unix.SIGKILL))
		_, _ = collect(pid)
	}
	return o
}

func descriptorBomb() outcome {
	return upTo("descriptors", func() (string, error) {
		_, err := call(unix.SYS_EVENTFD2, 0, 0)
		return "eventfd2", err
	})
}

// signalBomb sends itself signals that it does not take, each of which the
// kernel keeps.
func signalBomb() outcome {
	runtime.LockOSThread()
	const realtime = 34
	blocked := uint64(1) << (realtime - 1)
	if _, err := call(unix.SYS_RT_SIGPROCMASK, unix.SIG_BLOCK, pointer(&blocked), 0, 8); err != nil {
		return held("rt_sigprocmask", err)
	}
	pid, thread := uintptr(unix.Getpid()), uintptr(unix.Gettid())
	return upTo("queued signals", func() (string, error) {
		_, err := call(unix.SYS_TGKILL, pid, thread, realtime)
		return "tgkill", err
	})
}

func stderrFlood() outcome {
	block := append(bytes.Repeat([]byte("x"), 4095), '\n')
	return mebibytes("written to standard error", func() (string, error) {
		for range mib / len(block) {
			if _, err := write(2, block); err != nil {
				return "write", err
			}
		}
		return "", nil
	})
}

// frameFlood writes to the channel until nobody takes any more.
func frameFlood() outcome {
	if _, err := call(unix.SYS_FCNTL, channel, unix.F_SETFL, unix.O_RDWR|unix.O_NONBLOCK); err != nil {
		return held("fcntl", err)
	}
	patience := time.Duration(number("milliseconds")) * time.Millisecond
	block := make([]byte, 64<<10)
	return mebibytes("written to the channel", func() (string, error) {
		for sent, last := 0, time.Now(); sent < mib; {
			n, err := write(channel, block)
			if err == nil {
				sent, last = sent+n, time.Now()
				continue
			}
			if err != unix.EAGAIN || time.Since(last) > patience {
				return "write", err
			}
			time.Sleep(time.Millisecond)
		}
		return "", nil
	})
}

// spin uses a processor until the kernel or its bound, in milliseconds, ends it.
func spin() outcome {
	ignore(unix.SIGXCPU)
	bound := time.Duration(number("milliseconds")) * time.Millisecond
	for {
		turns := 0
		for range 1 << 20 {
			turns++
		}
		runtime.KeepAlive(turns)
		var spent unix.Timespec
		if _, err := call(unix.SYS_CLOCK_GETTIME, unix.CLOCK_PROCESS_CPUTIME_ID, pointer(&spent)); err != nil {
			return held("clock_gettime", err)
		}
		if time.Duration(spent.Nano()) > bound {
			return escaped("used %d ms of processor time", spent.Nano()/1e6)
		}
	}
}

// sleepForever outlives everything that can be ignored.
func sleepForever() outcome {
	for signal := unix.Signal(1); signal <= 64; signal++ {
		ignore(signal)
	}
	_, _ = write(2, []byte("asleep\n"))
	for {
		time.Sleep(time.Hour)
	}
}
