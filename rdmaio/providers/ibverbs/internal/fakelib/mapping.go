//go:build linux

package fakelib

import (
	"math/bits"
	"slices"
	"syscall"
)

// The sizes in bytes of siw's queue entries. cqTail bytes follow a completion queue.
const (
	cqeSize, cqTail  = 32, 8
	sqeSize, rqeSize = 120, 56
)

// refusedOffset is where the page of Quirks.RefusedPage begins.
const refusedOffset = 144 << 12

// mapping is where a queue is mapped: pages of its context's file. A queue that is not mapped has
// the zero value.
type mapping struct{ first, n int }

// mappings are the pages that a context's queues take, in order. A device with Quirks.RefusedPage
// has them.
type mappings []mapping

// take returns the first range of n pages that is free.
func (m *mappings) take(n int) mapping {
	to, at := mapping{n: n}, 0
	for ; at < len(*m) && (*m)[at].first < to.first+n; at++ {
		to.first = (*m)[at].first + (*m)[at].n
	}
	*m = slices.Insert(*m, at, to)
	return to
}

// give frees a range.
func (m *mappings) give(r mapping) {
	*m = slices.DeleteFunc(*m, func(o mapping) bool { return o == r })
}

// mapQueue maps a queue for a call of fn. Its entries have size bytes each, and tail bytes follow
// them. The kernel raises the number of entries to a power of two.
func (d *Device) mapQueue(fn string, entries, size, tail int) (mapping, error) {
	if !d.quirks.RefusedPage || entries == 0 {
		return mapping{}, nil
	}
	page := d.page()
	r := d.mapped.take((size<<bits.Len(uint(entries-1)) + tail + page - 1) / page)
	if r.first*page == refusedOffset {
		d.mapped.give(r)
		return mapping{}, fail(fn, syscall.EIO) // as package lib reports an error without an errno
	}
	return r, nil
}

// pinned returns what the device pins for a queue of size bytes. With Quirks.RefusedPage a queue is
// the kernel's memory.
func (d *Device) pinned(size int) int {
	if d.quirks.RefusedPage {
		return 0
	}
	return pages(0, size)
}
