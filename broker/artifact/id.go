package artifact

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strconv"
	"time"
)

const (
	// idBytes is a time and randomness enough that two processes never meet.
	idBytes   = 16
	timeBytes = 6
	// idLength is the length of an id in characters.
	idLength = (idBytes*8 + 4) / 5
)

// idText keeps the order of the bytes, and has one case, for disks that tell no two apart.
var idText = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// id is 48 bits of milliseconds since 1970 and 80 bits of randomness, big-endian.
type id [idBytes]byte

// next is an id for now that sorts after the last one of this process.
func (last id) next(now time.Time) id {
	var n id
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(n[:timeBytes], ms[8-timeBytes:])
	_, _ = rand.Read(n[timeBytes:]) // ends the process rather than fail
	if string(n[:timeBytes]) > string(last[:timeBytes]) {
		return n
	}
	// The same millisecond, or a clock that went back.
	n = last
	for i := idBytes - 1; i >= 0; i-- {
		if n[i]++; n[i] != 0 {
			break
		}
	}
	return n
}

func (n id) String() string { return idText.EncodeToString(n[:]) }

// time is when the id was made, in UTC, to the millisecond.
func (n id) time() time.Time {
	var ms [8]byte
	copy(ms[8-timeBytes:], n[:timeBytes])
	return time.UnixMilli(int64(binary.BigEndian.Uint64(ms[:]))).UTC()
}

// parse takes exactly what String gives.
func parse(text string) (id, error) {
	var n id
	if len(text) == idLength {
		if _, err := idText.Decode(n[:], []byte(text)); err == nil && n.String() == text {
			return n, nil
		}
	}
	return id{}, &Error{Kind: Invalid, Msg: quoted(text) + " is no artifact's id; an id is " + strconv.Itoa(idLength) + " of the characters 0-9 and a-v"}
}

// quoted is foreign text in a message.
func quoted(text string) string {
	const most = 64 // enough to recognize it
	if len(text) > most {
		return strconv.QuoteToASCII(text[:most]) + "…"
	}
	return strconv.QuoteToASCII(text)
}
