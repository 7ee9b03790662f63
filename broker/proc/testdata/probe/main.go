// Probe attempts one thing that a command may not do, or behaves badly in one way. It exits 0 where it succeeded.
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() {
	what, arg := os.Args[1], ""
	if len(os.Args) > 2 {
		arg = os.Args[2]
	}
	if err := probe(what, arg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
}

func probe(what, arg string) error {
	switch what {
	case "read":
		_, err := os.ReadFile(arg)
		return err
	case "write":
		return os.WriteFile(arg, []byte("written"), 0o600)
	case "dial", "dial unix":
		c, err := net.DialTimeout(map[string]string{"dial": "tcp", "dial unix": "unix"}[what], arg, 5*time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			_ = l.Close()
		}
		return err
	case "udp":
		c, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err == nil {
			_ = c.Close()
		}
		return err
	case "signal":
		pid, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		return syscall.Kill(pid, 0)
	case "trace": // a child of its own
		return start(&syscall.SysProcAttr{Ptrace: true})
	case "user namespace":
		return start(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER})
	case "mount":
		return syscall.Mount("probe", arg, "tmpfs", 0, "")
	case "setuid file":
		if err := os.WriteFile(arg, nil, 0o755); err != nil {
			return err
		}
		return os.Chmod(arg, 0o755|os.ModeSetuid)
	case "environment":
		if os.Getenv(arg) == "" {
			return fmt.Errorf("%s is not set", arg)
		}
		return nil
	}
	return misbehave(what, arg)
}

func start(attr *syscall.SysProcAttr) error {
	cmd := exec.Command("/proc/self/exe", "nothing")
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return nil
}

func misbehave(what, arg string) error {
	n, _ := strconv.Atoi(arg)
	switch what {
	case "nothing":
		return nil
	case "flood": // to both outputs
		block := bytes.Repeat([]byte("x"), 1<<10)
		for i := range n {
			to := os.Stdout
			if i%2 == 1 {
				to = os.Stderr
			}
			if _, err := to.Write(block); err != nil {
				return err
			}
		}
		return nil
	case "hang":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		fmt.Println("hanging")
		for {
			time.Sleep(time.Hour)
		}
	case "daemon": // twice forked, in a session of its own, holding the output
		cmd := exec.Command("/proc/self/exe", "daemon's child")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stdout = os.Stdout
		return cmd.Run()
	case "daemon's child":
		cmd := exec.Command("/proc/self/exe", "hang")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stdout = os.Stdout
		return cmd.Start()
	}
	return fmt.Errorf("nothing is called %q", what)
}
