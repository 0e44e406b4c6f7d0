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
	places  int // room for extents, of all regions
	most    int // entries that regions has had: a map keeps the room of those removed
}

// What the structures around the data take, in bytes on 64-bit machines.
const (
	extentSize = 48 + 8 // and the least that its data are rounded up to
	regionSize = 96     // with its entries in map and list
)

// size returns what the data and their extents take, in bytes.
func (m *memory) size() int { return m.bytes + m.places*extentSize + m.most*regionSize }

// region is the memory of a key: extents sorted by offset, without overlap.
type region struct {
	extents []extent
}

// extent is bytes placed at a time.
type extent struct {
	at   uint64
	data []byte
	time int64
	room int // bytes of the array that data is in
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
		m.most = max(m.most, len(m.order))
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
		before := cap(e.data)
		if e.data, e.time = append(e.data, data...), time; cap(e.data) != before {
			e.room = cap(e.data)
		}
		return
	}
	if len(r.extents) == maxExtents {
		m.bytes -= len(data)
		return
	}
	m.set(r, slices.Insert(r.extents, i, extent{at, slices.Clone(data), time, len(data)}))
}

// set replaces the extents of a region.
func (m *memory) set(r *region, extents []extent) {
	m.places += cap(extents) - cap(r.extents)
	r.extents = extents
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
			left = append(left, e.part(e.at, a))
		}
		if e.end() > b {
			left = append(left, e.part(b, e.end()))
		}
		m.bytes -= len(e.data)
		for _, l := range left {
			m.bytes += len(l.data)
		}
		m.set(r, slices.Replace(r.extents, i, i+1, left...))
		i += len(left)
	}
}

// part returns the part of an extent from a to b. It is copied if it is less than half of the array
// that it is in, so that the array is freed.
func (e *extent) part(a, b uint64) extent {
	data, room := e.data[a-e.at:b-e.at:b-e.at], e.room
	if len(data) < room/2 {
		data, room = slices.Clone(data), len(data)
	}
	return extent{a, data, e.time, room}
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
	r := m.regions[key]
	for _, e := range r.extents {
		m.bytes -= len(e.data)
	}
	m.set(r, nil)
	delete(m.regions, key)
	if i := slices.Index(m.order, key); i >= 0 {
		m.order = slices.Delete(m.order, i, i+1)
	}
}
