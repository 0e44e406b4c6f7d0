package inflight

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// ByXID finds what a map finds, for XIDs that follow each other, share a place, or are random.
func TestRecordsAreFoundByXID(t *testing.T) {
	for _, stride := range []uint32{1, 3, mostPlaces, 1 << 20, 0x9e3779b1} {
		var b ByXID[int]
		model := make(map[uint32]*int)
		rng := rand.New(rand.NewPCG(1, uint64(stride)))
		xid := ^uint32(0) - 100*stride // they wrap
		most := 1
		for range 20_000 {
			if rng.IntN(1000) == 0 {
				most = 1 << rng.IntN(13)
			}
			if len(model) < most {
				for model[xid] != nil {
					xid += stride
				}
				if b.Get(xid) != nil {
					t.Fatalf("stride %d: %#x is found before it is added", stride, xid)
				}
				record := new(int)
				b.Put(xid, record)
				model[xid] = record
				xid += stride
			}
			for xid, record := range model {
				if b.Get(xid) != record {
					t.Fatalf("stride %d: %#x is not found", stride, xid)
				}
				if len(model) > most/2 && rng.IntN(3) > 0 {
					b.Remove(xid)
					delete(model, xid)
					if b.Get(xid) != nil {
						t.Fatalf("stride %d: %#x is found after it was removed", stride, xid)
					}
				}
				if rng.IntN(4) == 0 {
					break
				}
			}
			if b.Len() != len(model) {
				t.Fatalf("stride %d: %d records, want %d", stride, b.Len(), len(model))
			}
		}
		if len(b.places) > mostPlaces {
			t.Errorf("stride %d: %d places", stride, len(b.places))
		}
		all := make(map[*int]bool)
		b.All(func(record *int) { all[record] = true })
		for record := range maps.Values(model) {
			if !all[record] {
				t.Errorf("stride %d: a record is left out of all", stride)
			}
			delete(all, record)
		}
		if len(all) > 0 {
			t.Errorf("stride %d: %d records too many in all", stride, len(all))
		}
	}
}

// In the steady state nothing is allocated, also if all XIDs share a place.
func TestRecordsByXIDAllocateNothing(t *testing.T) {
	for _, stride := range []uint32{1, mostPlaces} {
		var b ByXID[int]
		record, xid := new(int), uint32(7)
		round := func() {
			for i := range uint32(256) {
				b.Put(xid+i*stride, record)
			}
			for i := range uint32(256) {
				b.Remove(xid + i*stride)
			}
			xid += 256 * stride
		}
		round()
		if n := testing.AllocsPerRun(10, round); n > 2 { // a map grows now and then
			t.Errorf("stride %d: %v allocations", stride, n)
		}
	}
}

// Records that All visits may be removed.
func TestAllRecordsCanBeRemoved(t *testing.T) {
	var b ByXID[uint32]
	for i := range uint32(100) {
		xid := i * mostPlaces / 4
		b.Put(xid, &xid)
	}
	seen := 0
	b.All(func(xid *uint32) { seen++; b.Remove(*xid) })
	if seen != 100 || b.Len() != 0 {
		t.Errorf("%d seen, %d left", seen, b.Len())
	}
}
