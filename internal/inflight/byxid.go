package inflight

// ByXID finds records by the XIDs of their Calls. The XIDs of one connection follow each other, so
// nearly each has a place in a table. The few that share a place are in a map. The zero value is
// empty. The owner's lock guards it.
type ByXID[T any] struct {
	places []place[T] // a power of two, or none
	others map[uint32]*T
	n      int
}

// place has a record, or none.
type place[T any] struct {
	record *T
	xid    uint32
}

// The table has at least twice as many places as records, up to mostPlaces, which take 16 KiB.
const (
	firstPlaces = 16
	mostPlaces  = 1024
)

// Len returns the number of records.
func (b *ByXID[T]) Len() int { return b.n }

// Get returns the record of an XID, or nil.
func (b *ByXID[T]) Get(xid uint32) *T {
	if b.n == 0 {
		return nil
	}
	if p := &b.places[int(xid)&(len(b.places)-1)]; p.xid == xid && p.record != nil {
		return p.record
	}
	if len(b.others) == 0 {
		return nil
	}
	return b.others[xid]
}

// Put adds the record of an XID that is not there.
func (b *ByXID[T]) Put(xid uint32, record *T) {
	b.n++
	if 2*b.n > len(b.places) && len(b.places) < mostPlaces {
		b.grow()
	}
	b.put(xid, record)
}

func (b *ByXID[T]) put(xid uint32, record *T) {
	if p := &b.places[int(xid)&(len(b.places)-1)]; p.record == nil {
		*p = place[T]{record, xid}
		return
	}
	if b.others == nil {
		b.others = make(map[uint32]*T)
	}
	b.others[xid] = record
}

// grow makes twice as many places.
func (b *ByXID[T]) grow() {
	old, others := b.places, b.others
	b.places, b.others = make([]place[T], max(2*len(old), firstPlaces)), nil
	for _, p := range old {
		if p.record != nil {
			b.put(p.xid, p.record)
		}
	}
	for xid, record := range others {
		b.put(xid, record)
	}
}

// Remove removes the record of an XID, if it has one.
func (b *ByXID[T]) Remove(xid uint32) {
	if b.Get(xid) == nil {
		return
	}
	b.n--
	if p := &b.places[int(xid)&(len(b.places)-1)]; p.xid == xid && p.record != nil {
		*p = place[T]{}
		return
	}
	delete(b.others, xid)
}

// All calls f with each record. f may remove the record.
func (b *ByXID[T]) All(f func(*T)) {
	for i := range b.places {
		if record := b.places[i].record; record != nil {
			f(record)
		}
	}
	for _, record := range b.others {
		f(record)
	}
}
