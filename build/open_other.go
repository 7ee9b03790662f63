//go:build !unix

package build

// openStranger has no meaning where the jail starts nothing.
const openStranger = 0
