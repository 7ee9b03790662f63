// The runtime would keep the files of its control group open, which would look
// like descriptors that were inherited.

//go:debug containermaxprocs=0
//go:debug updatemaxprocs=0

// Command attempts tries one way out of a jail and says whether it got out.
//
//	attempts NAME [key=value ...]
//
// One process makes one attempt, because the first refused system call may be
// its end. What it found is one line on descriptor 2: "escaped: " and the
// evidence, with exit status 3, or "held: " and the name of the error, with
// exit status 0. The keys are what the outside knows: process numbers,
// addresses, a directory and bounds.
//
// Every attempt does the thing itself, and succeeds where nothing is in its
// way; a test that runs it outside a jail sees it escape. Those that would hurt
// the machine stop at the first proof that the kernel would have gone on.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	statusHeld    = 0
	statusUsage   = 2
	statusEscaped = 3
)

// outcome is what came of an attempt.
type outcome struct {
	escaped bool
	text    string
}

func escaped(format string, args ...any) outcome {
	return outcome{escaped: true, text: fmt.Sprintf(format, args...)}
}

// held is an attempt that an error stopped.
func held(what string, err error) outcome {
	return outcome{text: errorName(err) + " at " + what}
}

func heldBecause(reason string) outcome { return outcome{text: reason} }

// reached is for a system call whose only wall is the one that refuses it whole:
// any answer but the three refusals means that the kernel looked at its arguments.
func reached(what string, err error) outcome {
	switch err {
	case nil:
		return escaped("%s succeeded", what)
	case unix.EPERM, unix.EACCES, unix.ENOSYS:
		return held(what, err)
	}
	return escaped("%s reached the kernel, which said %s", what, errorName(err))
}

func errorName(err error) string {
	if errno, ok := err.(unix.Errno); ok {
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
		return "errno " + strconv.Itoa(int(errno))
	}
	return err.Error()
}

var attempts = map[string]func() outcome{}

func add(more map[string]func() outcome) bool {
	for name, try := range more {
		if _, twice := attempts[name]; twice {
			panic("two attempts are called " + name)
		}
		attempts[name] = try
	}
	return true
}

// given is the keys on the command line.
var given = map[string]string{}

func main() {
	if len(os.Args) < 2 {
		say("usage: attempts NAME [key=value ...]", statusUsage)
	}
	for _, arg := range os.Args[2:] {
		key, value, _ := strings.Cut(arg, "=")
		given[key] = value
	}
	switch name := os.Args[1]; name {
	case "list":
		say(strings.Join(slices.Sorted(maps.Keys(attempts)), "\n"), statusHeld)
	case "executed": // what an attempt to execute something executes
		say("escaped: executed "+given["through"], statusEscaped)
	case "target": // what attempts on another process are aimed at
		beTarget()
	default:
		try, known := attempts[name]
		if !known {
			say("no attempt is called "+name, statusUsage)
		}
		report(try())
	}
}

func report(o outcome) {
	if o.escaped {
		say("escaped: "+o.text, statusEscaped)
	}
	say("held: "+o.text, statusHeld)
}

func say(line string, status int) {
	_, _ = unix.Write(2, []byte(line+"\n"))
	os.Exit(status)
}

// number is a key that must be there and be a number.
func number(key string) int {
	n, err := strconv.Atoi(given[key])
	if err != nil {
		say("the attempt needs "+key+"=NUMBER", statusUsage)
	}
	return n
}

// text is a key that must be there.
func text(key string) string {
	value := given[key]
	if value == "" {
		say("the attempt needs "+key+"=VALUE", statusUsage)
	}
	return value
}
