package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// channel is the descriptor of the connected socket the outside gave.
const channel = 3

var _ = add(map[string]func() outcome{
	"descriptor-sent":     sendDescriptor,
	"descriptor-received": receiveDescriptor,
	"peer-credentials":    peerCredentials,
	"send-buffer":         growSendBuffer,
	"splice": func() outcome {
		_, err := call(unix.SYS_SPLICE, channel, 0, 2, 0, 1, unix.SPLICE_F_NONBLOCK)
		return reached("splice", err)
	},
	"tee": func() outcome {
		_, err := call(unix.SYS_TEE, 2, 2, 1, unix.SPLICE_F_NONBLOCK)
		return reached("tee", err)
	},
	"vmsplice": func() outcome {
		b := []byte("vmspliced\n")
		part := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
		_, err := call(unix.SYS_VMSPLICE, 2, pointer(&part), 1, unix.SPLICE_F_NONBLOCK)
		return reached("vmsplice", err)
	},
	"sendfile": func() outcome {
		_, err := call(unix.SYS_SENDFILE, 2, 0, 0, 1)
		return reached("sendfile", err)
	},
	"copy-file-range": func() outcome {
		_, err := call(unix.SYS_COPY_FILE_RANGE, 0, 0, 2, 0, 1, 0)
		return reached("copy_file_range", err)
	},
})

// rights is the control part of a message that carries one descriptor.
type rights struct {
	head unix.Cmsghdr
	fd   int32
	_    int32
}

func message(control *rights) *unix.Msghdr {
	b := []byte{'x'}
	part := &unix.Iovec{Base: &b[0], Len: 1}
	m := &unix.Msghdr{Iov: part, Iovlen: 1, Control: (*byte)(unsafe.Pointer(control))}
	m.SetControllen(int(unsafe.Sizeof(*control)))
	return m
}

func sendDescriptor() outcome {
	control := &rights{fd: 0}
	control.head.Level, control.head.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
	control.head.SetLen(unix.CmsgLen(4))
	_, err := call(unix.SYS_SENDMSG, channel, pointer(message(control)), unix.MSG_NOSIGNAL)
	return done("passed a descriptor to the host", "sendmsg", err)
}

// receiveDescriptor takes what the outside sent before the program started.
func receiveDescriptor() outcome {
	control := &rights{}
	if _, err := call(unix.SYS_RECVMSG, channel, pointer(message(control)), unix.MSG_DONTWAIT); err != nil {
		return held("recvmsg", err)
	}
	if control.head.Type != unix.SCM_RIGHTS || !opened(int(control.fd)) {
		return heldBecause("a message without a descriptor")
	}
	return escaped("was passed descriptor %d", control.fd)
}

// peerCredentials asks who holds the other end: a process number of the host.
func peerCredentials() outcome {
	var who unix.Ucred
	size := uint32(unsafe.Sizeof(who))
	if _, err := call(unix.SYS_GETSOCKOPT, channel, unix.SOL_SOCKET, unix.SO_PEERCRED, pointer(&who), pointer(&size)); err != nil {
		return held("getsockopt", err)
	}
	if who.Pid == 0 {
		return heldBecause("the other end has no number here")
	}
	return escaped("process %d holds the other end of the channel", who.Pid)
}

func growSendBuffer() outcome {
	bytes := int32(4 << 20)
	_, err := call(unix.SYS_SETSOCKOPT, channel, unix.SOL_SOCKET, unix.SO_SNDBUF, pointer(&bytes), 4)
	return done("may have more of the host's memory behind the channel", "setsockopt", err)
}
