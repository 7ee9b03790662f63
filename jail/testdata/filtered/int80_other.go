//go:build !amd64

package main

func int80() {}
