package satellite

import (
	"io"
	"os"
	"time"

	"github.com/loomext/loomext/jail"
	"golang.org/x/sys/unix"
)

// soonWait is how long a reader that expects its answer at once waits in the
// kernel, which rounds it up to a tick of its clock, 1 to 10 ms. A call that
// takes longer does not notice what the poller costs.
const soonWait = time.Millisecond

// startWaits is how many times that the first answer of a satellite is waited for: its
// process starts meanwhile, which takes one to three milliseconds.
const startWaits = 4

// newChannel makes the pair. Theirs is a blocking descriptor; the satellite
// does with its end what it likes.
func newChannel() (ours *channel, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err == nil {
		ours, err = hostEnd(pair[0])
		if err == nil {
			err = blocking(pair[1])
		}
		if err != nil {
			_ = unix.Close(pair[1])
		}
	}
	if err != nil {
		if ours != nil {
			ours.close()
		}
		return nil, nil, &jail.Error{Place: "descriptors", What: "no socket pair for the satellite", Err: err}
	}
	return ours, os.NewFile(uintptr(pair[1]), "satellite's end"), nil
}

// hostEnd takes over a descriptor that does not block. The runtime takes no
// other to its poller; once it has it, the descriptor blocks.
func hostEnd(fd int) (*channel, error) {
	c := &channel{file: os.NewFile(uintptr(fd), "satellite"), starting: startWaits}
	c.receive, c.send = c.receiveSome, c.sendAll
	raw, err := c.file.SyscallConn()
	if err == nil {
		tick := unix.NsecToTimeval(soonWait.Nanoseconds())
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tick)
	}
	if err == nil {
		err = blocking(fd)
	}
	if err != nil {
		_ = c.file.Close()
		return nil, err
	}
	c.raw = raw
	return c, nil
}

// blocking clears every status flag of a socket.
func blocking(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, 0)
	return err
}

// receiveSome is one attempt to read. False sends the reader to the poller.
func (c *channel) receiveSome(fd uintptr) bool {
	for c.soon {
		n, err := unix.Read(int(fd), c.into)
		if err != unix.EAGAIN && err != unix.EINTR {
			c.starting = 0
			return c.received(n, err)
		}
		c.starting--
		c.soon = err == unix.EAGAIN && c.starting > 0 // else it takes its time, or the runtime wants this thread
	}
	for {
		n, _, err := unix.Recvfrom(int(fd), c.into, unix.MSG_DONTWAIT)
		switch err {
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			return c.received(n, err)
		}
	}
}

func (c *channel) received(n int, err error) bool {
	c.got, c.readErr = max(n, 0), err
	if n == 0 && err == nil {
		c.readErr = io.EOF
	}
	return true
}

// sendAll writes until all is taken or there is no room. False sends the
// writer to the poller.
func (c *channel) sendAll(fd uintptr) bool {
	for len(c.rest) > 0 {
		n, err := unix.SendmsgN(int(fd), c.rest, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		switch err {
		case nil:
			c.rest = c.rest[n:]
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			c.writeErr = err
			return true
		}
	}
	return true
}

// close ends every wait on the channel, one in the kernel as well.
func (c *channel) close() {
	_ = c.raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RDWR) })
	_ = c.file.Close()
}
