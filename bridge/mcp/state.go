package mcp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gowebpki/jcs"
)

const (
	// stateLife is how long a client may take to answer: a person's lunch.
	stateLife = time.Hour
	// maxState is the size of a state, in bytes: the client sends it back within a request,
	// beside the arguments.
	maxState = 1 << 20
)

// state is what a client of the stateless revision carries from one round to the next. It
// can neither read nor change it: an answer that a person gave is not to become another.
type state struct {
	Expires int64      `json:"t"` // in seconds since 1970
	Rounds  int        `json:"n"`
	Answers []answered `json:"a,omitempty"`
	Asked   []asked    `json:"q"`
}

// sealer keeps states secret and whole, with a key that ends with the process.
var sealer = sync.OnceValue(func() cipher.AEAD {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // ends the process rather than fail
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the key has the length that it has
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err)
	}
	return aead
})

// binding is what a state belongs to: one method, one tool of one installation, and the same
// arguments, however they are written. What a person answered to one program is no answer to another
// that has its name.
func binding(c call) string {
	args, err := jcs.Transform(c.args)
	if err != nil {
		args = c.args
	}
	digest := sha256.Sum256(args)
	return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%x", c.method, c.extension, c.generation, c.tool, digest)
}

func seal(s state, bind string) (string, error) {
	s.Expires = time.Now().Add(stateLife).Unix()
	text, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	if len(text) > maxState {
		return "", fmt.Errorf("the answers so far have more than %d KiB together", maxState>>10)
	}
	return stateEncoding.EncodeToString(sealer().Seal(nil, nil, text, []byte(bind))), nil
}

// stateEncoding has one text for a state, and no other.
var stateEncoding = base64.RawURLEncoding.Strict()

var (
	errState   = errors.New("requestState is none that this server gave for this request and what is installed now; send the request again without it")
	errExpired = errors.New("requestState has expired; send the request again without it")
)

func unseal(text, bind string) (state, error) {
	var s state
	if len(text) > 2*maxState || strings.ContainsAny(text, "\r\n") { // with what base 64 and the seal add; the decoder skips ends of lines
		return s, errState
	}
	sealed, err := stateEncoding.DecodeString(text)
	if err != nil {
		return s, errState
	}
	plain, err := sealer().Open(nil, nil, sealed, []byte(bind))
	if err != nil || json.Unmarshal(plain, &s) != nil {
		return s, errState
	}
	if time.Now().Unix() > s.Expires {
		return s, errExpired
	}
	return s, nil
}
