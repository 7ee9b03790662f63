// Command netecho is what a round trip is measured against: over a net.UnixConn it reads raw frames of any size and answers
// each with the first bytes of it, as many as its one argument says.
package main

import (
	"encoding/binary"
	"net"
	"os"
	"strconv"
)

// socket is the first inherited descriptor; header is the length in front of a frame.
const (
	socket = 3
	header = 4
	room   = 256 << 10
)

func main() {
	if len(os.Args) != 2 {
		os.Exit(2)
	}
	answer, err := strconv.Atoi(os.Args[1])
	if err != nil || answer < 0 || answer > room {
		os.Exit(2)
	}
	conn, err := net.FileConn(os.NewFile(socket, "socket"))
	if err != nil {
		os.Exit(1)
	}
	frame := make([]byte, room)
	for {
		have := 0
		for have < header || have < header+int(binary.BigEndian.Uint32(frame)) {
			n, err := conn.Read(frame[have:])
			if err != nil {
				return // the benchmark has hung up
			}
			have += n
		}
		if _, err := conn.Write(frame[:answer]); err != nil {
			return
		}
	}
}
