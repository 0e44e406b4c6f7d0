//go:build race

package xdrtest

// Race says that the race detector is on: allocations cannot be counted.
const Race = true
