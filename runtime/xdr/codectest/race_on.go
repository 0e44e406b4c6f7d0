//go:build race

package codectest

// race reports whether the race detector is on, so that allocations cannot be counted.
const race = true
