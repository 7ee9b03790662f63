package mcp

import (
	"net"
	"sync"
)

const (
	// maxConnections is how many connections are open at once: of as many clients as there
	// may be requests, with a few each that wait for the next.
	maxConnections = 512
	// keptDescriptors is the part of this process's descriptors that no connection gets, as one in
	// so many: satellites, stores and logs need some too, and whoever connects need not show who he is.
	keptDescriptors = 2
)

// connections is how many connections a process takes that may have so many descriptors.
func connections(descriptors int) int {
	return max(1, min(maxConnections, descriptors-descriptors/keptDescriptors))
}

// listener accepts no more connections than it may have open. Others wait until one ends, which one that sends
// no request does within [headerTime].
type listener struct {
	net.Listener
	slots   chan struct{}
	closing sync.Once
	closed  chan struct{}
}

func limited(l net.Listener, most int) *listener {
	return &listener{Listener: l, slots: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept waits for a slot, and then for a connection.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &slotted{Conn: c, leave: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close ends the waiting too.
func (l *listener) Close() error {
	l.closing.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// slotted is a connection that has a slot until its end.
type slotted struct {
	net.Conn
	leave func()
}

// Close gives the slot back.
func (c *slotted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
