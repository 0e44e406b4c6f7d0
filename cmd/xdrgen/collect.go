package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A run takes about 0.1 s. At the default rate, a third of that would be garbage collection,
// so the collector runs rarely until the process uses memoryLimit bytes. If a collection
// leaves more than largeHeap in use, the limit would make the collector run all the time;
// the default settings are then restored.
const (
	gcPercent   = 800
	memoryLimit = 128 << 20
	largeHeap   = memoryLimit / 2
)

// collectLate makes garbage collection rare while the heap is small.
func collectLate() {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	watchHeap()
}

// watchHeap checks the size of the heap after each collection. Once the heap is large, it
// restores the default settings.
func watchHeap() {
	sentinel := new([16]byte) // 16 bytes: smaller objects share a block and are freed together
	runtime.AddCleanup(sentinel, func(struct{}) {
		if live() <= largeHeap {
			watchHeap()
			return
		}
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
	}, struct{}{})
}

// live returns the number of bytes in use after the last collection.
func live() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
