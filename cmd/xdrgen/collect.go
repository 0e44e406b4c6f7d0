package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// The command is done in a tenth of a second, so that collecting garbage by the default
// rate would be a third of its work: there is little until the process has memoryLimit
// bytes. Once a collection has left more than largeHeap in use, the limit would have the
// collector run without pause, and the default rate serves better.
const (
	gcPercent   = 800
	memoryLimit = 128 << 20
	largeHeap   = memoryLimit / 2
)

// collectLate sets the collector up.
func collectLate() {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	watchHeap()
}

// watchHeap looks at the heap after each collection, until it is large.
func watchHeap() {
	sentinel := new([16]byte) // too large for the allocator of tiny objects, which share a life
	runtime.AddCleanup(sentinel, func(struct{}) {
		if live() <= largeHeap {
			watchHeap()
			return
		}
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
	}, struct{}{})
}

// live returns the bytes that the last collection left in use.
func live() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
