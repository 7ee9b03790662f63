// Command hostile stands in the place of a go command that an extension has taken over. Asked what it is, it answers as a
// toolchain does, and lists one package. Asked to build, it does what the file "orders" in its GOROOT says, one order a line with tabs between its
// words, and tells on standard error whether each was possible.
package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	root := filepath.Dir(filepath.Dir(os.Args[0]))
	if len(os.Args) > 1 && os.Args[1] == "env" {
		fmt.Printf("{\"GOROOT\": %q, \"GOVERSION\": \"go1.26.999\", \"GOFLAGS\": \"\"}\n", root)
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "list" { // of what the fill compiled: one package is enough
		export := filepath.Join(os.Getenv("GOCACHE"), "all", "export-d")
		if err := os.WriteFile(export, []byte("compiled"), 0o666); err != nil {
			fmt.Fprintln(os.Stderr, "list:", err)
			os.Exit(4)
		}
		fmt.Printf("fmt\t%s\n", export)
		return
	}
	orders, err := os.ReadFile(filepath.Join(root, "orders"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "orders:", err)
		os.Exit(3)
	}
	// The arguments are those of a build: … -o <file> ./<package>
	out := os.Args[len(os.Args)-2]
	status := 0
	for order := range strings.Lines(string(orders)) {
		words := strings.Split(strings.ReplaceAll(strings.TrimSuffix(order, "\n"), "$OUT", out), "\t")
		if words[0] == "exit" {
			status, _ = strconv.Atoi(words[1])
			continue
		}
		said := "reached"
		if err := obey(words[0], words[1:]); err != nil {
			said = "refused: " + err.Error()
		}
		fmt.Fprintf(os.Stderr, "%s: %s\n", words[0], said)
	}
	os.Exit(status)
}

func obey(verb string, of []string) error {
	switch verb {
	case "read":
		_, err := os.ReadFile(of[0])
		return err
	case "list":
		_, err := os.ReadDir(of[0])
		return err
	case "create":
		return os.WriteFile(of[0], []byte("evil"), 0o666)
	case "overwrite":
		// As its owner may, also where the mode says no.
		os.Chmod(filepath.Dir(of[0]), 0o777)
		os.Chmod(of[0], 0o666)
		return os.WriteFile(of[0], []byte("evil"), 0o666)
	case "remove":
		os.Chmod(filepath.Dir(of[0]), 0o777)
		return os.Remove(of[0])
	case "link":
		return os.Link(of[0], of[1])
	case "symlink":
		return os.Symlink(of[0], of[1])
	case "fifo":
		return syscall.Mkfifo(of[0], 0o666)
	case "directory":
		return os.MkdirAll(of[0], 0o777)
	case "mode":
		mode, err := strconv.ParseUint(of[1], 8, 32)
		if err != nil {
			return err
		}
		return os.Chmod(of[0], os.FileMode(mode))
	case "connect":
		c, err := net.DialTimeout("tcp", of[0], 5*time.Second)
		if err == nil {
			c.Close()
		}
		return err
	case "signal":
		pid, err := strconv.Atoi(of[0])
		if err != nil {
			return err
		}
		return syscall.Kill(pid, 0)
	}
	return fmt.Errorf("no such order: %q", verb)
}
