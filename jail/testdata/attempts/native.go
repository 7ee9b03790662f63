package main

// What only machine code can do: a child on its parent's stack, and a thread
// without one.

func vfork() int

// sleeper starts a thread, or a process, that sleeps for that long over and over,
// or returns a negative error.
func sleeper(flags uintptr, timespec *[2]int64) int

// textAddress is the address of machine code of this program.
func textAddress() uintptr

// longSleep is a struct timespec of some thirty years.
var longSleep = [2]int64{1e9, 0}
