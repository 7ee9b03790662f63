//go:build !unix

package source

// openNonblock is nothing where opening a pipe by name is not something a file name can cause.
const openNonblock = 0
