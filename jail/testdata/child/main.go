// Command child does one thing, well behaved or not, for the tests of the jail.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// seen is what the child finds around itself.
type seen struct {
	Args, Env  []string
	Dir        string
	FDs        map[string]string
	PGID, PID  int
	Terminal   bool
	NoNewPrivs bool
	Limits     map[string]syscall.Rlimit
}

func main() {
	if len(os.Args) < 2 {
		os.Exit(9)
	}
	switch os.Args[1] {
	case "look":
		look()
	case "exit":
		code, _ := strconv.Atoi(os.Args[2])
		fmt.Fprintln(os.Stderr, "leaving")
		os.Exit(code)
	case "spin":
		signal.Ignore(syscall.SIGXCPU)
		for spinning := true; spinning; {
		}
	case "heap":
		var keep [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			keep = append(keep, b)
			if len(keep) > 1<<14 {
				os.Exit(7)
			}
		}
	case "file":
		f, err := os.Create(os.Args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(8)
		}
		block := make([]byte, 64<<10)
		for range 1 << 10 {
			if _, err := f.Write(block); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(5)
			}
		}
	case "flood":
		size, _ := strconv.Atoi(os.Args[2])
		fmt.Fprintln(os.Stderr, "first words")
		line := bytes.Repeat([]byte("x"), 4096)
		for written := 0; written < size; written += len(line) {
			os.Stderr.Write(line)
		}
		fmt.Fprintln(os.Stderr, "last words")
	case "sleep":
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "session": // leave a process behind that is out of the group's reach
		c := exec.Command(os.Args[0], "parent")
		c.Stdout, c.Stderr, c.SysProcAttr = os.Stdout, os.Stderr, &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(8)
		}
		time.Sleep(time.Hour)
	case "family":
		// A child and a grandchild that only sleep; their identifiers on stdout.
		c := exec.Command(os.Args[0], "parent")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(8)
		}
		if len(os.Args) > 2 { // leave them behind
			time.Sleep(100 * time.Millisecond)
			return
		}
		time.Sleep(time.Hour)
	case "parent":
		c := exec.Command(os.Args[0], "sleep")
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			os.Exit(8)
		}
		fmt.Printf("%d %d\n", os.Getpid(), c.Process.Pid)
		time.Sleep(time.Hour)
	case "segv":
		syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		time.Sleep(time.Hour)
	case "fds":
		for n := 0; ; n++ {
			if _, err := os.Open("/dev/null"); err != nil {
				fmt.Println(n)
				return
			}
			if n > 5000 {
				os.Exit(6)
			}
		}
	case "socket":
		_, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		give(err)
	case "cat":
		text, err := os.ReadFile(os.Args[2])
		give(err)
		os.Stdout.Write(text)
	case "create":
		f, err := os.OpenFile(os.Args[2], os.O_WRONLY|os.O_CREATE, 0o644)
		give(err)
		give(f.Close())
	case "copy and run": // itself
		text, err := os.ReadFile(os.Args[0])
		give(err)
		give(os.WriteFile(os.Args[2], text, 0o755))
		err = exec.Command(os.Args[2], "exit", "4").Run()
		if exit := (&exec.ExitError{}); errors.As(err, &exit) {
			os.Exit(exit.ExitCode())
		}
		give(err)
	case "echo":
		b := make([]byte, 64)
		n, _ := syscall.Read(3, b)
		syscall.Write(3, b[:n])
	}
}

// give up with a status that says which kind of thing went wrong.
func give(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(8)
	}
}

func look() {
	s := seen{Args: os.Args, Env: os.Environ(), FDs: map[string]string{}, PID: os.Getpid(), Limits: map[string]syscall.Rlimit{}}
	s.Dir, _ = os.Getwd()
	s.PGID = syscall.Getpgrp()
	if tty, err := os.Open("/dev/tty"); err == nil {
		s.Terminal = true
		tty.Close()
	}
	dir, _ := os.Open("/proc/self/fd")
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if name == strconv.Itoa(int(dir.Fd())) {
			continue
		}
		target, _ := os.Readlink("/proc/self/fd/" + name)
		if strings.Contains(target, "[event") || strings.HasPrefix(target, "/sys/fs/cgroup/") { // the runtime's own
			continue
		}
		s.FDs[name] = target
	}
	status, _ := os.ReadFile("/proc/self/status")
	s.NoNewPrivs = bytes.Contains(status, []byte("NoNewPrivs:\t1"))
	for name, resource := range map[string]int{"cpu": 0, "fsize": 1, "data": 2, "core": 4, "nofile": 7, "memlock": 8, "as": 9, "msgqueue": 12} {
		var l syscall.Rlimit
		syscall.Getrlimit(resource, &l)
		s.Limits[name] = l
	}
	json.NewEncoder(os.Stdout).Encode(s)
}
