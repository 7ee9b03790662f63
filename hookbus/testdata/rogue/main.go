// Command rogue is a satellite that answers every event with the text that the event
// asks for, whatever that is, for the tests of what the bus makes of it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"github.com/loomext/loomext/internal/wire"
)

// socket is the connected descriptor that a jailed satellite inherits.
type socket struct{}

const fd = 3

func (socket) Read(p []byte) (int, error) {
	n, err := syscall.Read(fd, p)
	if n <= 0 && err == nil {
		os.Exit(0)
	}
	return max(n, 0), err
}

func main() {
	frames := wire.NewReader(socket{}, wire.Satellite)
	for {
		f, err := frames.Read()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		switch {
		case f.Kind == wire.KindCancel && f.ID == 0:
			os.Exit(0)
		case f.Kind == wire.KindHookCall:
			answer(f)
		}
	}
}

func answer(f wire.Frame) {
	args, _ := f.Call.Args.AsText()
	var asked struct {
		OpID    string `json:"op_id"`
		Message struct {
			Answer string `json:"answer"`
		} `json:"message"`
	}
	_ = json.Unmarshal(args, &asked)
	text := asked.OpID + asked.Message.Answer
	if text == "" {
		text = "{}"
	}
	b, err := wire.AppendResult(nil, wire.KindHookResult, f.ID, wire.Result{OK: true, Value: wire.Text([]byte(text))})
	if err != nil {
		panic(err)
	}
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		if err != nil {
			os.Exit(0)
		}
		b = b[n:]
	}
}
