// Command netecho is the floor that a round trip is measured against: it writes
// every raw frame back over a net.UnixConn.
package main

import (
	"encoding/binary"
	"net"
	"os"
)

func main() {
	conn, err := net.FileConn(os.NewFile(3, "socket"))
	if err != nil {
		os.Exit(1)
	}
	buf := make([]byte, 128<<10)
	for {
		have := 0
		for have < 4 || have < 4+int(binary.BigEndian.Uint32(buf)) {
			n, err := conn.Read(buf[have:])
			if err != nil {
				os.Exit(0)
			}
			have += n
		}
		if _, err := conn.Write(buf[:have]); err != nil {
			os.Exit(0)
		}
	}
}
