//go:build amd64 || arm64

package jail

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Where the host is root, every launch runs as a user and group of its own, out
// of a block of numbers that no account has. The numbers are above those that
// systemd gives to containers (524,288 to 1,879,048,191) and below those that
// are negative to some programs.
const (
	idFirst = 1_879_048_192
	idLast  = 1<<31 - 2
	// idBlock is the size of one host's block: more satellites than a host runs
	// at a time.
	idBlock = 4096
	// idSpare is the last of a block, as the namespace sees it. No launch has it; the
	// namespaces are tried with it.
	idSpare = idBlock - 1
)

// ids are the users that launches run as.
type ids struct {
	// base is the first number of the block, as the host sees it. Inside the
	// user namespace the block begins at 0, which no launch gets.
	base int

	mu   sync.Mutex
	next int
	used map[int]bool // by what lives, as the namespace sees it
	// tenants wait for the next command over a workspace of their owner's.
	tenants map[owner][]*tenant
	waiting int // how many, of all owners
	// own says that there is no block: launches keep the host's own user.
	own bool
	why string // no block, although the host is root
}

// take is a user that nothing alive has, as the host sees it and as the namespace
// does. It is given back with give.
func (i *ids) take() (outside, inside int, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for range idSpare - 1 {
		i.next = i.next%(idSpare-1) + 1
		if !i.used[i.next] {
			if i.used == nil {
				i.used = map[int]bool{}
			}
			i.used[i.next] = true
			return i.base + i.next, i.next, true
		}
	}
	return 0, 0, false
}

// give returns a user, by its number as the host sees it; 0 is nobody.
func (i *ids) give(outside int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.used, outside-i.base)
}

// hostIDs are those of this process.
var hostIDs = sync.OnceValue(newIDs)

// newIDs chooses a block among the numbers that are mapped here: in a container
// with a user namespace of its own the high ones are not.
func newIDs() *ids {
	if os.Geteuid() != 0 {
		return &ids{own: true}
	}
	users, err := mapped("/proc/self/uid_map")
	groups, err2 := mapped("/proc/self/gid_map")
	if err = errors.Join(err, err2); err != nil {
		return &ids{own: true, why: "the host's user map cannot be read: " + err.Error()}
	}
	var seed [4]byte
	_, _ = rand.Read(seed[:])
	pick := int(binary.NativeEndian.Uint32(seed[:]) >> 1)
	if holds(users, idFirst, idLast) && holds(groups, idFirst, idLast) {
		return &ids{base: idFirst + pick%((idLast-idFirst)/idBlock)*idBlock}
	}
	// The top of what is mapped, if that is more than the accounts of a system.
	for _, u := range users {
		last := u.first + u.size - 1
		if u.size > 2*idBlock && last < idLast && holds(groups, last-idBlock, last) {
			return &ids{base: last - idBlock}
		}
	}
	return &ids{own: true, why: "too few user numbers are mapped where the host runs"}
}

type idRange struct{ first, size int }

// mapped are the ranges of numbers that mean something here.
func mapped(path string) ([]idRange, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []idRange
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, errors.New("a line of " + path + " has not three numbers")
		}
		first, err1 := strconv.Atoi(fields[0])
		size, err2 := strconv.Atoi(fields[2])
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		list = append(list, idRange{first, size})
	}
	return list, nil
}

func holds(list []idRange, first, last int) bool {
	for _, r := range list {
		if r.first <= first && last < r.first+r.size {
			return true
		}
	}
	return false
}
