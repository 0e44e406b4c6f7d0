package soft

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Element is a checked range in one registration of a region.
type Element struct {
	Region       *Region
	Off, Len     int
	registration uint64 // the registration that was checked
}

// Pin keeps the registration valid until Unpin. It returns false if the registration that was
// checked is no longer valid.
func (e *Element) Pin() bool {
	for {
		u := e.Region.loadUse()
		if !u.valid() || u.registration() != e.registration {
			return false
		}
		if e.Region.use.CompareAndSwap(uint64(u), uint64(u+usePin)) {
			return true
		}
	}
}

// Unpin releases the pin.
func (e *Element) Unpin() { e.Region.Unpin() }

// Unpin releases one element's pin of the region.
func (mr *Region) Unpin() {
	if u := use(mr.use.Add(^uint64(usePin - 1))); (!u.valid() || u.redirecting()) && u.pins() == 0 {
		mr.mu.Lock()                  // a waiter is now in Wait, or has not looked at the pins yet
		if mr.loadUse().pins() == 0 { // otherwise a later Redirect may wait for the pins
			mr.use.And(^uint64(useRedirecting))
		}
		mr.idle.Broadcast()
		mr.mu.Unlock()
	}
}

// Bytes returns the memory of a pinned element.
func (e *Element) Bytes() []byte { return e.Region.bytes()[e.Off : e.Off+e.Len] }

// Overlaps reports whether two elements share a byte. It returns false if either registration is no
// longer valid.
func (e *Element) Overlaps(o *Element) bool {
	if !e.Pin() {
		return false
	}
	defer e.Unpin()
	if !o.Pin() {
		return false
	}
	defer o.Unpin()
	a, b := address(e.Bytes()), address(o.Bytes())
	return a < b+uintptr(o.Len) && b < a+uintptr(e.Len)
}

// List is the checked form of a scatter/gather list.
type List []Element

// Pin pins every element. It returns false, and leaves no element pinned, if a registration is no
// longer valid.
func (l List) Pin() bool {
	for i := range l {
		if !l[i].Pin() {
			l[:i].Unpin()
			return false
		}
	}
	return true
}

// Unpin unpins every element.
func (l List) Unpin() {
	for i := range l {
		l[i].Unpin()
	}
}

// Pieces appends the slices that hold bytes off to off+n of a pinned list.
func (l List) Pieces(to [][]byte, off, n int) [][]byte {
	for i := range l {
		b := l[i].Bytes()
		if off >= len(b) {
			off -= len(b)
			continue
		}
		b = b[off:]
		off = 0
		if len(b) > n {
			b = b[:n]
		}
		if len(b) > 0 {
			to = append(to, b)
		}
		if n -= len(b); n == 0 {
			break
		}
	}
	return to
}

// AppendTo appends bytes off to off+n of a pinned list to b.
func (l List) AppendTo(b []byte, off, n int) []byte {
	for i := range l {
		from := l[i].Bytes()
		if off >= len(from) {
			off -= len(from)
			continue
		}
		from = from[off:]
		off = 0
		if len(from) >= n {
			return append(b, from[:n]...)
		}
		b = append(b, from...)
		n -= len(from)
	}
	return b
}

// CopyFrom copies b to the bytes of a pinned list from byte off on.
func (l List) CopyFrom(b []byte, off int) {
	for i := range l {
		to := l[i].Bytes()
		if off >= len(to) {
			off -= len(to)
			continue
		}
		b = b[copy(to[off:], b):]
		off = 0
		if len(b) == 0 {
			return
		}
	}
}

// Check appends the checked form of a request's list to to, and returns the sum of its
// lengths. It allows at most limit elements and longest bytes, and each region must have
// the rights need.
func (pd *Domain) Check(to List, sgl []verbs.SGE, limit, longest int, need verbs.Access) (List, int, error) {
	if len(sgl) > limit {
		return to, 0, fmt.Errorf("%d elements, limit is %d: %w", len(sgl), limit, verbs.ErrInvalidWR)
	}
	total := 0
	for i := range sgl {
		e := &sgl[i]
		mr, ok := e.MR.(*Region)
		switch {
		case e.MR == nil:
			return to, 0, fmt.Errorf("element %d has no region: %w", i, verbs.ErrInvalidWR)
		case !ok || mr.pd != pd:
			return to, 0, fmt.Errorf("element %d: %w", i, verbs.ErrForeignObject)
		}
		el := Element{Region: mr, Off: e.Offset, Len: e.Length}
		if err := el.check(need); err != nil {
			return to, 0, fmt.Errorf("element %d: %w", i, err)
		}
		if e.Length > longest-total {
			return to, 0, fmt.Errorf("element %d makes the message longer than %d bytes: %w", i, longest, verbs.ErrTooLarge)
		}
		total += e.Length
		to = append(to, el)
	}
	return to, total, nil
}

// check checks a local element and records the registration that it belongs to.
func (e *Element) check(need verbs.Access) error {
	mr := e.Region
	u := mr.loadUse()
	size, access := int(mr.size.Load()), mr.access.Load()
	switch {
	case !u.valid() || !mr.loadUse().same(u): // or it ended since loadUse
		return fmt.Errorf("region is %v: %w", mr.State(), verbs.ErrAccess)
	case e.Off < 0 || e.Len < 0 || e.Off > size || e.Len > size-e.Off:
		return fmt.Errorf("offset %d and length %d are not within the %d bytes of the region: %w", e.Off, e.Len, size, verbs.ErrInvalidWR)
	case verbs.Access(access)&need != need:
		return fmt.Errorf("region has no %v right: %w", need, verbs.ErrAccess)
	case access&noLocalUse != 0:
		return fmt.Errorf("region has memory on demand, for the peer only: %w", verbs.ErrAccess)
	}
	e.registration = u.registration()
	return nil
}
