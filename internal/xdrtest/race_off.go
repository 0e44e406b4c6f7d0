//go:build !race

package xdrtest

// Race reports whether the race detector is on, so that allocations cannot be counted.
const Race = false
