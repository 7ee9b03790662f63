// Command satellite answers frames by hand, well or badly, as the name of the
// call says, for the tests of the host's side.
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/loomext/loomext/internal/wire"
)

// link is the connected descriptor, whole frames at a time.
type link struct{ mu sync.Mutex }

const fd = 3

func (*link) Read(p []byte) (int, error) {
	n, err := syscall.Read(fd, p)
	if n <= 0 && err == nil {
		os.Exit(0)
	}
	return max(n, 0), err
}

func (l *link) write(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		if err != nil {
			os.Exit(0)
		}
		b = b[n:]
	}
}

var (
	out      link
	frames   = wire.NewReader(&out, wire.Satellite)
	capID    int64
	last     []byte             // the token of the call before
	answered = map[int64]bool{} // cap_calls whose result came
	stubborn bool
	kept     [][]byte
)

func main() {
	if os.Getenv("LOOM_CAP_SOCK") != "fd:3" {
		os.Exit(1)
	}
	if os.Getenv("DEAD_ON_ARRIVAL") != "" {
		fmt.Fprintln(os.Stderr, "not today")
		os.Exit(1)
	}
	for {
		f := next()
		if f.Kind != wire.KindHookCall {
			continue
		}
		serve(f.ID, f.Call)
		last = f.Call.Token
	}
}

// next reads a frame. Told to serve no more, it exits.
func next() wire.Frame {
	f, err := frames.Read()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if f.Kind == wire.KindCancel && f.ID == 0 && !stubborn {
		os.Exit(0)
	}
	if f.Kind == wire.KindCapResult {
		answered[f.ID] = true
	}
	return f
}

func answer(id int64, v wire.Value) {
	b, err := wire.AppendResult(nil, wire.KindHookResult, id, wire.Result{OK: true, Value: v})
	if err != nil {
		panic(err)
	}
	out.write(b)
}

func fail(id int64, code, msg string) {
	b, _ := wire.AppendResult(nil, wire.KindHookResult, id, wire.Result{Fault: wire.Fault{Code: code, Msg: msg}})
	out.write(b)
}

// ask sends a cap_call and returns its id.
func ask(token []byte, name string, args wire.Value) int64 {
	capID++
	askAs(capID, token, name, args, 60_000)
	return capID
}

func askAs(id int64, token []byte, name string, args wire.Value, ms int64) {
	b, err := wire.AppendCapCall(nil, id, wire.CapCall{Token: token, Cap: name, Args: args, DeadlineMS: ms})
	if err != nil {
		panic(err)
	}
	out.write(b)
}

// result waits for the answer to a cap_call, and tells it as text.
func result(id int64) string {
	for {
		f := next()
		if f.Kind == wire.KindCapResult && f.ID == id {
			if f.Result.OK {
				return fmt.Sprint("ok ", f.Result.Value.Type())
			}
			return f.Result.Fault.Error()
		}
	}
}

func serve(id int64, c wire.HookCall) {
	name, arg, _ := strings.Cut(c.Name, " ")
	n, _ := strconv.Atoi(arg)
	empty := wire.Map()
	switch name {
	case "echo":
		answer(id, c.Args)
	case "tool":
		answer(id, toolValue(c.Args))
	case "fault":
		fail(id, arg, "as asked")
	case "facts":
		answer(id, wire.String(fmt.Sprintf("%d %s %d %s", len(c.Token), c.Kind, c.DeadlineMS, strings.Join(os.Environ(), " "))))
	case "late":
		time.Sleep(time.Duration(n) * time.Millisecond)
		answer(id, wire.String("late"))
	case "silent":
		for {
			next()
		}
	case "deaf": // answers, and reads nothing ever after
		answer(id, wire.Nil())
		time.Sleep(time.Hour)
	case "heed": // answers when it is cancelled
		for {
			if f := next(); f.Kind == wire.KindCancel && f.ID == id {
				answer(id, wire.String("heeded"))
				return
			}
		}
	case "stubborn":
		stubborn = true
		answer(id, wire.Nil())
	case "panic":
		panic("the author's mistake")
	case "exit":
		fmt.Fprintln(os.Stderr, "leaving early")
		os.Exit(n)
	case "heedexit": // exits when it is cancelled
		for {
			if f := next(); f.Kind == wire.KindCancel && f.ID == id {
				os.Exit(n)
			}
		}
	case "lines": // n lines of output, and an end
		for i := range n {
			fmt.Fprintln(os.Stderr, "line", i, "of standard error")
		}
		os.Exit(1)
	case "both": // writes to both streams
		fmt.Fprintln(os.Stdout, "to standard output")
		fmt.Fprintln(os.Stderr, "to standard error")
		fmt.Fprintln(os.Stdout, "to standard output again")
		answer(id, wire.Nil())
	case "stdout":
		block := bytes.Repeat([]byte("flood\n"), 1000)
		for range n {
			os.Stdout.Write(block)
		}
		answer(id, wire.Nil())
	case "exitafter":
		answer(id, wire.String("done"))
		os.Exit(n)
	case "spinafter":
		go func() {
			for spinning := true; spinning; {
			}
		}()
		answer(id, wire.String("done"))
	case "spin":
		for spinning := true; spinning; {
		}
	case "crash":
		var nothing *int
		*nothing = 1
	case "garbage":
		out.write([]byte("\x00\x00\x00\x05hello"))
		time.Sleep(time.Hour)
	case "oversize":
		out.write([]byte{0xff, 0xff, 0xff, 0xff})
		time.Sleep(time.Hour)
	case "deep":
		out.write(append([]byte{0, 1, 0, 0}, bytes.Repeat([]byte{0x91}, 1<<16)...))
		time.Sleep(time.Hour)
	case "bomb": // an array of four billion
		out.write([]byte{0, 0, 0, 5, 0xdd, 0xff, 0xff, 0xff, 0xff})
		time.Sleep(time.Hour)
	case "half":
		out.write([]byte{0, 0, 1, 0, 0x84})
		os.Exit(n)
	case "wrongway":
		out.write(mustHookCall())
		time.Sleep(time.Hour)
	case "twice":
		answer(id, wire.Nil())
		answer(id, wire.Nil())
	case "unknown":
		answer(id+1000, wire.Nil())
		time.Sleep(time.Hour)
	case "close":
		syscall.Close(fd)
		time.Sleep(time.Hour)
	case "closeexit":
		syscall.Close(fd)
		os.Exit(n)
	case "stderr":
		block := bytes.Repeat([]byte("flood\n"), 1000)
		for range n {
			os.Stderr.Write(block)
		}
		answer(id, wire.Nil())
	case "heartbeats":
		answer(id, wire.Nil())
		block := bytes.Repeat(wire.AppendHeartbeat(nil), 1000)
		for {
			out.write(block)
		}
	case "flood": // as heartbeats, and never answers
		block := bytes.Repeat(wire.AppendHeartbeat(nil), 10_000)
		for {
			out.write(block)
		}
	case "caps": // floods, reading nothing
		for {
			ask(c.Token, "x.y", empty)
		}
	case "unread": // asks n times, and reads no answer
		for range n {
			ask(c.Token, "x.y", empty)
		}
		fmt.Fprintln(os.Stderr, "all asked")
		time.Sleep(time.Hour)
	case "reports":
		for i := range n {
			ask(c.Token, "report.emit", report(strconv.Itoa(i)))
		}
		answer(id, wire.Nil())
	case "badreport":
		answer(id, wire.String(result(ask(c.Token, "report.emit", empty))))
	case "cap":
		answer(id, wire.String(result(ask(c.Token, arg, empty))))
	case "wrongtoken":
		wrong := bytes.Clone(c.Token)
		wrong[31] ^= 1
		answer(id, wire.String(result(ask(wrong, "x.y", empty))))
	case "notoken":
		answer(id, wire.String(result(ask(nil, "x.y", empty))))
	case "oldtoken":
		answer(id, wire.String(result(ask(last, "x.y", empty))))
	case "soon": // an effect with n milliseconds of its own
		capID++
		askAs(capID, c.Token, "x.y", empty, int64(n))
		answer(id, wire.String(result(capID)))
	case "results": // which of the calls before were answered, once everything under way has come
		result(ask(c.Token, "release", empty))
		text := ""
		for i := range capID {
			if answered[i+1] {
				text += strconv.FormatInt(i+1, 10) + " "
			}
		}
		answer(id, wire.String(text))
	case "notime":
		capID++
		askAs(capID, c.Token, "x.y", empty, 0)
		answer(id, wire.String(result(capID)))
	case "afterwards": // a call with the token of an answered invocation; the answer goes to stderr
		answer(id, wire.Nil())
		fmt.Fprintln(os.Stderr, result(ask(c.Token, "x.y", empty)))
	case "expired": // a call when the deadline has passed
		time.Sleep(time.Duration(c.DeadlineMS+5) * time.Millisecond)
		answer(id, wire.String(result(ask(c.Token, "x.y", empty))))
	case "same":
		askAs(7, c.Token, "wait", empty, 60_000)
		askAs(7, c.Token, "wait", empty, 60_000)
		time.Sleep(time.Hour)
	case "many":
		for range n {
			ask(c.Token, "wait", empty)
		}
		answer(id, wire.String(result(capID)))
	case "large": // n effects that hold 8 MiB each; the answer to the last
		for range n {
			ask(c.Token, "wait", wire.Map(wire.Field{Key: "data", Value: wire.Bin(make([]byte, 8<<20))}))
		}
		answer(id, wire.String(result(capID)))
	case "calloff":
		out.write(wire.AppendCancel(nil, ask(c.Token, "wait", empty)))
		out.write(wire.AppendCancel(nil, 12345)) // answers nothing open
		answer(id, wire.String(result(ask(c.Token, "release", empty))))
	case "leave": // an effect is still open when the answer goes out
		ask(c.Token, "wait", empty)
		answer(id, wire.Nil())
	case "hold": // an effect is open and no answer comes
		ask(c.Token, "wait", empty)
		for {
			next()
		}
	case "heap": // takes memory and keeps it
		for {
			block := make([]byte, 1<<20)
			for i := range block {
				block[i] = byte(i)
			}
			kept = append(kept, block)
		}
	case "threads": // each in a system call of its own
		for {
			go func() {
				runtime.LockOSThread()
				time.Sleep(time.Hour)
			}()
			runtime.Gosched()
		}
	case "maps": // mappings that cannot become one, and then the heap
		for i := 0; ; i++ {
			if _, err := syscall.Mmap(-1, 0, 4096, i%2*(syscall.PROT_READ|syscall.PROT_WRITE), syscall.MAP_PRIVATE|syscall.MAP_ANON); err != nil {
				break
			}
		}
		for {
			kept = append(kept, make([]byte, 1<<20))
		}
	case "babble": // writes output for ever
		block := bytes.Repeat([]byte("flood\n"), 1000)
		for {
			os.Stderr.Write(block)
		}
	case "cores": // keeps as many processors busy as there are
		runtime.GOMAXPROCS(8)
		for range 8 {
			go func() {
				for spinning := true; spinning; {
				}
			}()
		}
		select {}
	case "background": // answers, and spins
		answer(id, wire.Nil())
		go func() {
			for spinning := true; spinning; {
			}
		}()
	case "socket":
		_, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		answer(id, wire.String(fmt.Sprint(err)))
	case "fork":
		pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
		if pid == 0 && errno == 0 {
			for {
			}
		}
		answer(id, wire.String(fmt.Sprint(pid, errno)))
	case "halfway": // a frame begins after the answer and ends in the next call
		answer(id, wire.Nil())
		out.write(wire.AppendHeartbeat(nil)[:9])
	case "rest":
		out.write(wire.AppendHeartbeat(nil)[9:])
		answer(id, wire.String("rested"))
	case "raw": // the value is whatever the arguments say
		answer(id, c.Args)
	case "unknownkind":
		out.write([]byte("\x00\x00\x00\x17\x84\xa1v\x01\xa2id\x01\xa4kind\xa3new\xa4body\x80"))
		answer(id, wire.Nil())
	default:
		fail(id, wire.CodeUnknownTool, c.Name)
	}
}

func mustHookCall() []byte {
	b, err := wire.AppendHookCall(nil, 1, wire.HookCall{})
	if err != nil {
		panic(err)
	}
	return b
}

func report(text string) wire.Value {
	return wire.Map(
		wire.Field{Key: "name", Value: wire.String("partial")},
		wire.Field{Key: "content_type", Value: wire.String("text/plain")},
		wire.Field{Key: "bytes", Value: wire.Bin([]byte(text))},
	)
}

func toolValue(args wire.Value) wire.Value {
	text, _ := args.Get("args")
	body, _ := text.AsText()
	return wire.Map(
		wire.Field{Key: "content", Value: wire.List(wire.Map(
			wire.Field{Key: "type", Value: wire.String("text")},
			wire.Field{Key: "text", Value: wire.Text(body)},
		))},
		wire.Field{Key: "terminate", Value: wire.Bool(false)},
	)
}
