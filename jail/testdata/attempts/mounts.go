package main

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// The mounts are asked for in ways that change nothing: of a file system that
// does not exist, or one that is never attached. Which error comes back tells
// whether the kernel would have gone on.
var _ = add(map[string]func() outcome{
	"mount": func() outcome {
		_, err := call(unix.SYS_MOUNT, cstring("none"), cstring("/"), cstring("no-such-type"), 0, 0)
		return allowed("mount", err, unix.ENODEV)
	},
	"unmount": func() outcome {
		_, err := call(unix.SYS_UMOUNT2, cstring("/"), unix.MNT_EXPIRE)
		return allowed("umount2", err, unix.EINVAL)
	},
	"pivot-root": func() outcome {
		_, err := call(unix.SYS_PIVOT_ROOT, cstring("/"), cstring("/"))
		return allowed("pivot_root", err, unix.EBUSY, unix.EINVAL)
	},
	"open-tree": func() outcome {
		_, err := call(unix.SYS_OPEN_TREE, here, cstring("/"), unix.OPEN_TREE_CLONE)
		return done("has a mount of its own of the root directory", "open_tree", err)
	},
	"new-filesystem": func() outcome {
		_, err := call(unix.SYS_FSOPEN, cstring("tmpfs"), 0)
		return done("may make a file system", "fsopen", err)
	},
	"pick-filesystem": func() outcome {
		_, err := call(unix.SYS_FSPICK, here, cstring("/"), 0)
		return done("may reconfigure the root file system", "fspick", err)
	},
	"move-mount": func() outcome {
		_, err := call(unix.SYS_MOVE_MOUNT, channel, cstring(""), channel, cstring(""), 0)
		return allowed("move_mount", err, unix.ENOENT, unix.EINVAL, unix.ENOTDIR)
	},
	"mount-attributes": func() outcome {
		attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
		const detachedOnly = unix.AT_EMPTY_PATH
		_, err := call(unix.SYS_MOUNT_SETATTR, channel, cstring(""), detachedOnly, pointer(attr), 32)
		return allowed("mount_setattr", err, unix.EINVAL)
	},
	"list-mounts":     listMounts,
	"enter-namespace": enterNamespace,
})

// allowed takes certain errors for the proof that the permission was there.
func allowed(what string, err error, proofs ...unix.Errno) outcome {
	if err == nil {
		return escaped("%s succeeded", what)
	}
	for _, proof := range proofs {
		if err == proof {
			return escaped("%s may be done: the kernel objects only to its arguments, by %s", what, errorName(err))
		}
	}
	return held(what, err)
}

// listMounts finds more than one mount below the root.
func listMounts() outcome {
	const root = ^uint64(0)
	ask := &struct {
		size, spare            uint32
		mount, param, wanderer uint64
	}{size: 32, mount: root}
	ids := &[8]uint64{}
	n, err := call(unix.SYS_LISTMOUNT, pointer(ask), pointer(ids), uintptr(len(ids)), 0)
	if err != nil {
		return held("listmount", err)
	}
	if n == 0 {
		return heldBecause("no mount but the root")
	}
	return escaped("sees %d mounts", n)
}

// enterNamespace enters the network namespace of the host: the bare call first,
// so that whoever refuses the call itself is seen.
func enterNamespace() outcome {
	_, _ = call(unix.SYS_SETNS, channel, unix.CLONE_NEWNET)
	fd, err := open("/proc/"+strconv.Itoa(number("target"))+"/ns/net", unix.O_RDONLY, 0)
	if err != nil {
		return held("openat", err)
	}
	_, err = call(unix.SYS_SETNS, uintptr(fd), unix.CLONE_NEWNET)
	return done("entered a namespace of the host", "setns", err)
}
