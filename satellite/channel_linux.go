package satellite

import (
	"os"

	"github.com/loomext/loomext/jail"
	"golang.org/x/sys/unix"
)

// newChannel makes the pair. Theirs is a blocking descriptor; the satellite
// does with its end what it likes.
func newChannel() (ours *channel, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(pair[0], true)
		if err != nil {
			_ = unix.Close(pair[0])
			_ = unix.Close(pair[1])
		}
	}
	if err != nil {
		return nil, nil, &jail.Error{Place: "descriptors", What: "no socket pair for the satellite", Err: err}
	}
	return &channel{file: os.NewFile(uintptr(pair[0]), "satellite")}, os.NewFile(uintptr(pair[1]), "satellite's end"), nil
}
