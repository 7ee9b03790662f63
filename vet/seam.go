package vet

import (
	"slices"
	"strings"
)

// SeamVersion changes whenever the lists below do, or what a rule lets pass. An install records it, so that a later
// seam with other rules asks the operator anew.
const SeamVersion = 4

// Seam is what source may name, as it is recorded with an approval.
type Seam struct {
	Version int      `json:"version"`
	Allow   []string `json:"allow"`  // import paths, sorted
	Denied  []string `json:"denied"` // symbols of allowed packages, as "path.Name", sorted
}

// CurrentSeam is the seam of this version.
func CurrentSeam() Seam {
	s := Seam{Version: SeamVersion}
	for path := range allowed {
		s.Allow = append(s.Allow, path)
	}
	for symbol := range denied {
		s.Denied = append(s.Denied, symbol)
	}
	slices.Sort(s.Allow)
	slices.Sort(s.Denied)
	return s
}

const (
	project = "github.com/loomext/loomext"
	prelude = project + "/prelude/"
	extPath = prelude + "ext"
	hooks   = prelude + "ext/hook"
	caps    = prelude + "cap/"
)

// seam is the prelude's part of the seam. prelude/cap itself is one error type, for errors.As.
var seam = []string{
	extPath, hooks, prelude + "cap",
	caps + "ask", caps + "clock", caps + "fs", caps + "kv", caps + "net", caps + "proc", caps + "rand", caps + "report",
}

// pure is the part of the standard library that computes. None of it reads a file, opens a socket, starts a process,
// writes to a stream of its own accord, or hands out a pointer that the type system does not know.
const pure = `
bufio bytes cmp compress/bzip2 compress/flate compress/gzip compress/lzw compress/zlib container/heap container/list
container/ring context crypto/hkdf crypto/hmac crypto/md5 crypto/pbkdf2 crypto/rand crypto/sha1 crypto/sha256 crypto/sha3
crypto/sha512 crypto/subtle encoding encoding/ascii85 encoding/base32 encoding/base64 encoding/binary encoding/csv
encoding/hex encoding/json encoding/pem encoding/xml errors fmt hash hash/adler32 hash/crc32 hash/crc64 hash/fnv html
image image/color image/color/palette image/draw image/gif image/jpeg image/png index/suffixarray io iter maps math
math/big math/bits math/cmplx math/rand math/rand/v2 mime/quotedprintable net/netip net/url path regexp regexp/syntax
slices sort strconv strings structs sync sync/atomic text/tabwriter time unicode unicode/utf16 unicode/utf8 unique`

var allowed = func() map[string]bool {
	all := map[string]bool{}
	for _, path := range append(strings.Fields(pure), seam...) {
		all[path] = true
	}
	return all
}()

// advice is why something is refused and what to use.
type advice struct{ why, instead string }

const (
	stdio    = "it writes to the process's own streams, which are kept for crashes"
	pointers = "it hands out pointers past the type system"
)

var (
	useReport = "return the text as the outcome, or report it with ctx.Report"
	useNet    = "use " + caps + "net, and request net"
	useFS     = "use " + caps + "fs, and request fs_read or fs_write"
	useProc   = "use " + caps + "proc, and request proc"
	inMemory  = "work on the bytes in memory with encoding/... and bytes"
)

// denied are symbols of allowed packages, by path and name.
var denied = deny(map[string]advice{
	"fmt.Print":         {stdio, useReport},
	"fmt.Printf":        {stdio, useReport},
	"fmt.Println":       {stdio, useReport},
	"fmt.Scan":          {"it reads the process's input, and there is none", "take what is needed as the tool's arguments"},
	"fmt.Scanf":         {"it reads the process's input, and there is none", "take what is needed as the tool's arguments"},
	"fmt.Scanln":        {"it reads the process's input, and there is none", "take what is needed as the tool's arguments"},
	"time.LoadLocation": {"it reads time zone files, and there are none", "use time.UTC or time.FixedZone, or time.LoadLocationFromTZData with data of your own"},
	"time.Local":        {"it reads the machine's time zone, and there is none", "use time.UTC or time.FixedZone"},
})

// deny adds the families of sync/atomic to a list.
func deny(list map[string]advice) map[string]advice {
	for _, verb := range []string{"Load", "Store", "Swap", "CompareAndSwap"} {
		list["sync/atomic."+verb+"Pointer"] = advice{pointers, "use atomic.Pointer[T]"}
	}
	for _, verb := range []string{"Load", "Store", "Swap", "CompareAndSwap", "Add", "And", "Or"} {
		list["sync/atomic."+verb+"Uintptr"] = advice{"it takes an address as a number", "use atomic.Uint64"}
	}
	return list
}

// Std is the standard library's part of the seam, sorted.
func Std() []string { return slices.Sorted(slices.Values(strings.Fields(pure))) }
