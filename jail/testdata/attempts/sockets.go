package main

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

const ipprotoMPTCP = 262

var _ = add(map[string]func() outcome{
	"tcp":           func() outcome { return connectStream(unix.IPPROTO_TCP) },
	"mptcp":         func() outcome { return connectStream(ipprotoMPTCP) },
	"tcp-fast-open": fastOpen,
	"tcp-listen":    listenTCP,
	"udp":           askUDP,
	"raw-socket":    func() outcome { return openSocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
	"packet":        func() outcome { return openSocket(unix.AF_PACKET, unix.SOCK_DGRAM, 0) },
	"netlink":       listInterfaces,
	"vsock":         func() outcome { return openSocket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"kernel-crypto": bindAlgorithm,
	"bluetooth":     func() outcome { return openSocket(unix.AF_BLUETOOTH, unix.SOCK_RAW, 1) },
	"xdp":           func() outcome { return openSocket(unix.AF_XDP, unix.SOCK_RAW, 0) },
	"other-sockets": otherFamilies,
	"unix-abstract": func() outcome { return connectUnix("\x00" + text("abstract")) },
	"unix-path":     func() outcome { return connectUnix(text("socket")) },
	"unix-datagram": sendUnix,
	"unix-listen":   listenUnix,
	"socketpair": func() outcome {
		var pair [2]int32
		_, err := call(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM, 0, pointer(&pair))
		return done("a pair of sockets of its own", "socketpair", err)
	},
	"pipe": func() outcome {
		var pair [2]int32
		_, err := call(unix.SYS_PIPE2, pointer(&pair), 0)
		return done("a pipe of its own", "pipe2", err)
	},
})

func socket(family, kind, protocol int) (int, error) {
	return call(unix.SYS_SOCKET, uintptr(family), uintptr(kind), uintptr(protocol))
}

func openSocket(family, kind, protocol int) outcome {
	_, err := socket(family, kind, protocol)
	return done("opened a socket of family "+strconv.Itoa(family), "socket", err)
}

// wire is an IPv4 address as the kernel reads it.
func wire(addr netip.AddrPort) []byte {
	b := make([]byte, 16)
	binary.NativeEndian.PutUint16(b, unix.AF_INET)
	binary.BigEndian.PutUint16(b[2:], addr.Port())
	ip := addr.Addr().As4()
	copy(b[4:], ip[:])
	return b
}

func internet(key string) []byte {
	addr, err := netip.ParseAddrPort(text(key))
	if err != nil {
		say(err.Error(), statusUsage)
	}
	return wire(addr)
}

// local is a unix address as the kernel reads it; a leading zero byte makes it
// an abstract one.
func local(name string) []byte {
	b := make([]byte, 2, 2+len(name)+1)
	binary.NativeEndian.PutUint16(b, unix.AF_UNIX)
	b = append(b, name...)
	if name[0] != 0 {
		b = append(b, 0)
	}
	return b
}

// patience bounds every wait for an answer from outside.
func patience(fd int) {
	limit := unix.Timeval{Sec: 5}
	_, _ = call(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_RCVTIMEO, pointer(&limit), unsafe.Sizeof(limit))
}

// answer is what the listener outside says to everyone who comes.
func answer(fd int, who string) outcome {
	patience(fd)
	b := make([]byte, 64)
	n, err := read(fd, b)
	if err != nil {
		return held("read", err)
	}
	return escaped("%s answered %q", who, b[:n])
}

func connectStream(protocol int) outcome {
	fd, err := socket(unix.AF_INET, unix.SOCK_STREAM, protocol)
	if err != nil {
		return held("socket", err)
	}
	to := internet("tcp")
	if _, err := call(unix.SYS_CONNECT, uintptr(fd), address(to), uintptr(len(to))); err != nil {
		return held("connect", err)
	}
	return answer(fd, "a TCP listener of the host")
}

// fastOpen connects by sending, which is not the call that a wall against
// connect looks at.
func fastOpen() outcome {
	fd, err := socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return held("socket", err)
	}
	to, data := internet("tcp"), []byte("hello")
	if _, err := call(unix.SYS_SENDTO, uintptr(fd), address(data), uintptr(len(data)), unix.MSG_FASTOPEN, address(to), uintptr(len(to))); err != nil {
		return held("sendto", err)
	}
	return answer(fd, "a TCP listener of the host, connected by sendto,")
}

// listenTCP listens where the host can connect, and shows it by connecting.
func listenTCP() outcome {
	fd, err := socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return held("socket", err)
	}
	at := wire(netip.MustParseAddrPort("127.0.0.1:0"))
	if _, err := call(unix.SYS_BIND, uintptr(fd), address(at), uintptr(len(at))); err != nil {
		return held("bind", err)
	}
	if _, err := call(unix.SYS_LISTEN, uintptr(fd), 1); err != nil {
		return held("listen", err)
	}
	size := uint32(len(at))
	if _, err := call(unix.SYS_GETSOCKNAME, uintptr(fd), address(at), pointer(&size)); err != nil {
		return held("getsockname", err)
	}
	other, err := socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return held("socket", err)
	}
	// On the loopback a connection stands, or is refused, before connect returns.
	_, err = call(unix.SYS_CONNECT, uintptr(other), address(at), uintptr(len(at)))
	if err != nil && err != unix.EINPROGRESS && err != unix.EACCES {
		return held("connect", err)
	}
	return escaped("listens on port %d", binary.BigEndian.Uint16(at[2:]))
}

func askUDP() outcome {
	fd, err := socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return held("socket", err)
	}
	to, data := internet("udp"), []byte("hello")
	if _, err := call(unix.SYS_SENDTO, uintptr(fd), address(data), uintptr(len(data)), 0, address(to), uintptr(len(to))); err != nil {
		return held("sendto", err)
	}
	return answer(fd, "a UDP socket of the host")
}

// listInterfaces asks for the network interfaces. A loopback of one's own says
// nothing of the host.
func listInterfaces() outcome {
	fd, err := socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return held("socket", err)
	}
	ask := make([]byte, unix.SizeofNlMsghdr+unix.SizeofIfInfomsg)
	head := (*unix.NlMsghdr)(unsafe.Pointer(&ask[0]))
	head.Len, head.Type, head.Flags = uint32(len(ask)), unix.RTM_GETLINK, unix.NLM_F_REQUEST|unix.NLM_F_DUMP
	if _, err := write(fd, ask); err != nil {
		return held("write", err)
	}
	patience(fd)
	const loopback = 1
	b := make([]byte, 64<<10)
	n, err := read(fd, b)
	if err != nil {
		return held("read", err)
	}
	for b = b[:n]; len(b) > unix.SizeofNlMsghdr+unix.SizeofIfInfomsg; {
		head := (*unix.NlMsghdr)(unsafe.Pointer(&b[0]))
		if head.Type != unix.RTM_NEWLINK || int(head.Len) > len(b) || head.Len == 0 {
			break
		}
		link := (*unix.IfInfomsg)(unsafe.Pointer(&b[unix.SizeofNlMsghdr]))
		if link.Index != loopback {
			return escaped("sees network interface %d of the host", link.Index)
		}
		b = b[min(len(b), (int(head.Len)+3)&^3):]
	}
	return heldBecause("only a loopback interface")
}

func bindAlgorithm() outcome {
	fd, err := socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		return held("socket", err)
	}
	at := make([]byte, 88)
	binary.NativeEndian.PutUint16(at, unix.AF_ALG)
	copy(at[2:16], "hash")
	copy(at[24:], "sha256")
	_, err = call(unix.SYS_BIND, uintptr(fd), address(at), uintptr(len(at)))
	return done("the kernel's sha256 is bound to a socket", "bind", err)
}

// otherFamilies opens whatever else a kernel was built with.
func otherFamilies() outcome {
	last := error(unix.EAFNOSUPPORT)
	for family := unix.AF_AX25; family < unix.AF_MAX; family++ {
		switch family {
		case unix.AF_INET6, unix.AF_NETLINK, unix.AF_PACKET, unix.AF_ALG, unix.AF_VSOCK, unix.AF_BLUETOOTH, unix.AF_XDP:
			continue // each an attempt of its own, or no different from one
		}
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			_, err := socket(family, kind, 0)
			if err == nil {
				return escaped("opened a socket of family %d", family)
			}
			if err != unix.EAFNOSUPPORT {
				last = err
			}
		}
	}
	return held("socket", last)
}

func connectUnix(name string) outcome {
	fd, err := socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return held("socket", err)
	}
	to := local(name)
	if _, err := call(unix.SYS_CONNECT, uintptr(fd), address(to), uintptr(len(to))); err != nil {
		return held("connect", err)
	}
	return answer(fd, "a unix listener of the host")
}

func sendUnix() outcome {
	fd, err := socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return held("socket", err)
	}
	to, data := local(text("datagrams")), []byte("hello")
	_, err = call(unix.SYS_SENDTO, uintptr(fd), address(data), uintptr(len(data)), 0, address(to), uintptr(len(to)))
	return done("sent a datagram to a socket file of the host", "sendto", err)
}

func listenUnix() outcome {
	fd, err := socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return held("socket", err)
	}
	at := local(inDirectory("listener"))
	_, err = call(unix.SYS_BIND, uintptr(fd), address(at), uintptr(len(at)))
	return done("made a socket file where the host connects", "bind", err)
}
