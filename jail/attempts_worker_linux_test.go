//go:build amd64 || arm64

package jail

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The attempts are made from a host program of their own: this test binary,
// started again by root or under another user with workerVariable set. It reads
// trials, one JSON value each, from standard input and writes findings.

const workerVariable = "JAIL_TEST_ATTEMPTS"

// trial is one run of one attempt.
type trial struct {
	Attempt string   `json:"attempt"`
	Outside string   `json:"outside,omitempty"` // not in a jail: outsidePlain or outsideNamespaces
	Without []string `json:"without,omitempty"` // layers left out of the jail
}

const (
	outsidePlain      = "plain"
	outsideNamespaces = "namespaces" // as root of namespaces of its own
)

// finding is what came of a trial.
type finding struct {
	Trial   trial             `json:"trial"`
	Escaped bool              `json:"escaped"`
	Text    string            `json:"text"`            // the attempt's own words, or how it ended
	Bound   string            `json:"bound,omitempty"` // of the Exit
	Call    string            `json:"call,omitempty"`
	Level   Level             `json:"level,omitempty"`
	Stands  []string          `json:"stands,omitempty"`  // layers the report calls enforced
	Missing map[string]string `json:"missing,omitempty"` // the others, and why
	Unmade  bool              `json:"unmade,omitempty"`  // the machine has not what it is about
	Broken  string            `json:"broken,omitempty"`  // it says nothing: why
}

func (f finding) String() string {
	where := fmt.Sprintf("without %q", f.Trial.Without)
	if len(f.Trial.Without) > len(steps)/2 {
		where = fmt.Sprintf("with no more than %q", slices.DeleteFunc(slices.Clone(f.Stands), func(layer string) bool { return slices.Contains(permanent, layer) }))
	}
	if f.Trial.Outside != "" {
		where = "outside, " + f.Trial.Outside
	}
	switch {
	case f.Broken != "":
		return where + ": broken: " + f.Broken
	case f.Escaped:
		return where + ": " + f.Text
	}
	return fmt.Sprintf("%s: %s (bound %q, call %q)", where, f.Text, f.Bound, f.Call)
}

func init() {
	if os.Getenv(workerVariable) == "" {
		return
	}
	if err := work(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// scene is what the attempts are aimed at.
type scene struct {
	dir, probe, setuid string
	image              *Image
	target             int
	facts              []string     // arguments that every attempt gets
	tracing            sync.Mutex   // one tracer at a time
	crowd              sync.RWMutex // written by what uses up the threads of a user
	staying            bool         // something was started that is not to be ended
}

// outlive is the attempt to live on when the host is killed, which is never over.
const (
	outlive    = "sleep"
	asleepLine = "asleep"
)

func (s *scene) stay() { s.staying = true }

// work makes trials until there are no more.
func work(in io.Reader, out io.Writer) error {
	s, end, err := newScene(os.Getenv(workerVariable))
	if err != nil {
		return err
	}
	defer end()
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	var mu sync.Mutex
	var running sync.WaitGroup
	room := make(chan struct{}, runtime.NumCPU()+1)
	for {
		var t trial
		if err = decoder.Decode(&t); err != nil {
			break
		}
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			f := s.try(t)
			mu.Lock()
			defer mu.Unlock()
			_ = encoder.Encode(f)
		})
	}
	running.Wait()
	if s.staying { // to be killed
		select {}
	}
	if err == io.EOF {
		err = nil
	}
	return err
}

// newScene prepares everything in dir, where probe is the probe.
func newScene(dir string) (_ *scene, end func(), err error) {
	s := &scene{dir: dir, probe: filepath.Join(dir, "probe"), setuid: filepath.Join(filepath.Dir(dir), "setuid")}
	var ends []func()
	cleanUp := func() {
		for _, f := range slices.Backward(ends) {
			f()
		}
	}
	defer func() {
		if err != nil {
			cleanUp()
		}
	}()
	program, err := os.Open(s.probe)
	if err != nil {
		return nil, nil, err
	}
	if s.image, err = sealReader(program); err != nil {
		return nil, nil, err
	}
	ends = append(ends, func() { _ = s.image.Close() })

	if err := leaveOpen(s.probe); err != nil {
		return nil, nil, err
	}
	target := exec.Command(s.probe, "target")
	target.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := target.Start(); err != nil {
		return nil, nil, err
	}
	s.target = target.Process.Pid
	ends = append(ends, func() { _ = target.Process.Kill(); _ = target.Wait() })
	facts, closers, err := openDoors(dir)
	ends = append(ends, closers...)
	if err != nil {
		return nil, nil, err
	}
	s.facts = append(facts, "target="+strconv.Itoa(s.target))
	return s, cleanUp, nil
}

// leaveOpen opens what a careless host leaves to every child it starts: the
// program, a directory and a file in memory that can be written.
func leaveOpen(probe string) error {
	body, err := os.ReadFile(probe)
	if err != nil {
		return err
	}
	program, err := unix.MemfdCreate("leak", 0)
	if err != nil {
		return err
	}
	if _, err := unix.Write(program, body); err != nil {
		return err
	}
	again, err := unix.Open("/proc/self/fd/"+strconv.Itoa(program), unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	_ = unix.Close(program) // what is open for writing cannot be executed
	etc, err := unix.Open("/etc", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	memory, err := unix.MemfdCreate("leak", 0)
	if err != nil {
		return err
	}
	for _, leak := range []struct{ from, to int }{{again, 49}, {etc, 50}, {memory, 51}, {again, imageAt}} {
		if err := unix.Dup3(leak.from, leak.to, 0); err != nil {
			return err
		}
	}
	return nil
}

// openDoors are the sockets and the shared memory of the host that an attempt
// tries to reach, and what to tell it about them.
func openDoors(dir string) (facts []string, closers []func(), err error) {
	fact := func(key, value string) { facts = append(facts, key+"="+value) }
	const greeting = "hello from the host"
	listen := func(key, network, at string) error {
		l, err := net.Listen(network, at)
		if err != nil {
			return err
		}
		closers = append(closers, func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte(greeting))
				_ = c.Close()
			}
		}()
		fact(key, strings.TrimPrefix(l.Addr().String(), "@"))
		return nil
	}
	answer := func(key, network, at string) error {
		c, err := net.ListenPacket(network, at)
		if err != nil {
			return err
		}
		closers = append(closers, func() { _ = c.Close() })
		go func() {
			b := make([]byte, 64)
			for {
				_, from, err := c.ReadFrom(b)
				if err != nil {
					return
				}
				if from != nil && from.String() != "" {
					_, _ = c.WriteTo([]byte(greeting), from)
				}
			}
		}()
		fact(key, c.LocalAddr().String())
		return nil
	}
	for _, open := range []func() error{
		func() error { return listen("tcp", "tcp4", "127.0.0.1:0") },
		func() error { return listen("abstract", "unix", "@attempts-"+strconv.Itoa(os.Getpid())) },
		func() error { return listen("socket", "unix", filepath.Join(dir, "stream")) },
		func() error { return answer("udp", "udp4", "127.0.0.1:0") },
		func() error { return answer("datagrams", "unixgram", filepath.Join(dir, "packets")) },
	} {
		if err := open(); err != nil {
			return nil, closers, err
		}
	}
	for _, socket := range []string{"stream", "packets"} { // for other users too
		if err := os.Chmod(filepath.Join(dir, socket), 0o777); err != nil {
			return nil, closers, err
		}
	}
	segment, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o666)
	if err != nil {
		return nil, closers, err
	}
	memory, err := unix.SysvShmAttach(segment, 0, 0)
	if err != nil {
		return nil, closers, err
	}
	closers = append(closers, func() { _ = unix.SysvShmDetach(memory) })
	copy(memory, "host")
	// Marked to go with its last user, so that nothing stays behind.
	if _, err := unix.SysvShmCtl(segment, unix.IPC_RMID, nil); err != nil {
		return nil, closers, err
	}
	fact("segment", strconv.Itoa(segment))
	name, err := os.Hostname()
	fact("hostname", name)
	return facts, closers, err
}
