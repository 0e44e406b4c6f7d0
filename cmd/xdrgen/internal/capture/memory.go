package capture

import "slices"

// Limits on the data placed in the memory of one end.
const (
	maxRegions = 1024
	maxExtents = 4096 // of a region
)

// memory holds the bytes in one end's memory that the other end wrote or read.
type memory struct {
	regions map[uint32]*region
	order   []uint32 // keys of regions, the one placed first at the start
	bytes   int
}

// region is the memory of a key: extents sorted by offset, without overlap.
type region struct {
	extents []extent
}

// extent is bytes placed at a time.
type extent struct {
	at   uint64
	data []byte
	time int64
}

func (e *extent) end() uint64 { return e.at + uint64(len(e.data)) }

// put places bytes. Later bytes replace those that were there.
func (m *memory) put(key uint32, at uint64, data []byte, time int64) {
	if len(data) == 0 || at+uint64(len(data)) < at {
		return
	}
	if m.regions == nil {
		m.regions = map[uint32]*region{}
	}
	r := m.regions[key]
	if r == nil {
		if len(m.order) == maxRegions {
			m.drop(m.order[0])
		}
		r = &region{}
		m.regions[key] = r
		m.order = append(m.order, key)
	}
	m.cut(r, at, at+uint64(len(data)))
	i, _ := slices.BinarySearchFunc(r.extents, at, func(e extent, at uint64) int {
		if e.at < at {
			return -1
		}
		return 1
	})
	m.bytes += len(data)
	if i > 0 && r.extents[i-1].end() == at && len(r.extents[i-1].data) < 1<<20 {
		e := &r.extents[i-1]
		e.data, e.time = append(e.data, data...), time
		return
	}
	if len(r.extents) == maxExtents {
		m.bytes -= len(data)
		return
	}
	r.extents = slices.Insert(r.extents, i, extent{at, slices.Clone(data), time})
}

// cut removes the bytes from a to b.
func (m *memory) cut(r *region, a, b uint64) {
	i, _ := slices.BinarySearchFunc(r.extents, a, func(e extent, a uint64) int {
		if e.end() <= a {
			return -1
		}
		return 1
	})
	for i < len(r.extents) && r.extents[i].at < b {
		e := r.extents[i]
		var left []extent
		if e.at < a {
			n := a - e.at
			left = append(left, extent{e.at, shrink(e.data[:n:n], len(e.data)), e.time})
		}
		if e.end() > b {
			left = append(left, extent{b, shrink(e.data[b-e.at:], len(e.data)), e.time})
		}
		m.bytes -= len(e.data)
		for _, l := range left {
			m.bytes += len(l.data)
		}
		r.extents = slices.Replace(r.extents, i, i+1, left...)
		i += len(left)
	}
}

// shrink returns a part of size bytes, copied if the rest is larger, so that the rest is freed.
func shrink(part []byte, size int) []byte {
	if len(part) < size/2 {
		return slices.Clone(part)
	}
	return part
}

// take removes n bytes and returns them, with the time of the last one. If a part of
// them is missing, it removes nothing and returns false.
func (m *memory) take(key uint32, at, n uint64) (data []byte, time int64, ok bool) {
	r := m.regions[key]
	if r == nil || n > uint64(m.bytes) || at+n < at {
		return nil, 0, false
	}
	end := at
	for _, e := range r.extents {
		if e.end() <= at {
			continue
		}
		if e.at > end || end >= at+n {
			break
		}
		end = e.end()
	}
	if end < at+n {
		return nil, 0, false
	}
	data = make([]byte, 0, n)
	for _, e := range r.extents {
		if e.end() <= at || e.at >= at+n {
			continue
		}
		from, to := max(at, e.at), min(at+n, e.end())
		data = append(data, e.data[from-e.at:to-e.at]...)
		time = max(time, e.time)
	}
	m.cut(r, at, at+n)
	if len(r.extents) == 0 {
		m.drop(key)
	}
	return data, time, true
}

// drop forgets a region.
func (m *memory) drop(key uint32) {
	for _, e := range m.regions[key].extents {
		m.bytes -= len(e.data)
	}
	delete(m.regions, key)
	if i := slices.Index(m.order, key); i >= 0 {
		m.order = slices.Delete(m.order, i, i+1)
	}
}
