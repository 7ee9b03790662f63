package mcp

import (
	"errors"
	"net"
	"testing"
	"time"
)

func TestConnectionsThatAreOpenAreBounded(t *testing.T) {
	under, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := limited(under, 2)
	accepted := make(chan net.Conn)
	ended := make(chan error, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- c
		}
	}()
	var open []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", under.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	open = append(open, <-accepted, <-accepted)
	select {
	case <-accepted:
		t.Fatal("a third was accepted beside two")
	case <-time.After(50 * time.Millisecond):
	}
	_ = open[0].Close()
	_ = open[0].Close() // gives one slot back, and not two
	open = append(open, <-accepted)
	select {
	case <-accepted:
		t.Fatal("a fourth was accepted")
	case <-time.After(50 * time.Millisecond):
	}
	_ = l.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
	for _, c := range open {
		_ = c.Close()
	}
}

func TestSomeDescriptorsAreNoConnections(t *testing.T) {
	for limit, want := range map[int]int{256: 128, 1024: 512, 1 << 20: maxConnections, 1: 1} {
		if got := connections(limit); got != want {
			t.Errorf("of %d descriptors %d are connections, want %d", limit, got, want)
		}
	}
}
