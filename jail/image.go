package jail

// Image is a program held in memory, its bytes fixed: what was verified is what
// runs, whatever becomes of the file it came from. It may be launched many times
// and by many goroutines. The launched programs do not need it any longer; close it when
// no further launch wants it.
type Image struct {
	digest string
	size   int64
	sealed
}

// Digest is "sha256:<64 hex>" of the bytes.
func (i *Image) Digest() string { return i.digest }

// Size is the number of bytes.
func (i *Image) Size() int64 { return i.size }

// maxImage bounds what is taken into memory: a satellite with every package that
// an extension may import is a tenth of it.
const maxImage = 64 << 20
