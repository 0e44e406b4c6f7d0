//go:build !race

package codectest

// race says that the race detector is on: allocations cannot be counted.
const race = false
