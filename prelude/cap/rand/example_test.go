package rand_test

import (
	"encoding/hex"
	"fmt"

	"github.com/loomext/loomext/prelude/cap/captest"
	"github.com/loomext/loomext/prelude/cap/rand"
)

func Example() {
	host := captest.Open() // a test has captest.New(t)
	defer host.End()
	host.Handle("rand.bytes", func(captest.Call) (captest.Value, error) {
		return captest.Random([]byte{0xca, 0xfe, 0xf0, 0x0d}), nil
	})

	b, err := rand.Bytes(host.Context(), 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hex.EncodeToString(b))
	// Output: cafef00d
}
