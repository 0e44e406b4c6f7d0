package engine

import (
	"cmp"
	"math/bits"
	"slices"
)

// calls holds our Calls that are not complete, by XID: a hash table with a list for each bucket,
// linked by pending.next. Its memory never shrinks. The upper layer of this side chooses the XIDs,
// not the peer, and no list is longer than there are Calls. The zero calls are empty.
type calls struct {
	buckets []*pending // of a length that is 0 or a power of 2
	n       int
}

// bucket returns the first Call of the list that a Call with this XID is in, to be changed. There
// must be buckets.
func (c *calls) bucket(xid uint32) **pending {
	// Multiplicative hashing: the high bits of the product depend on all bits of xid.
	return &c.buckets[xid*0x9e3779b1>>(bits.LeadingZeros32(uint32(len(c.buckets)))+1)]
}

// get returns the Call with this XID, or nil.
func (c *calls) get(xid uint32) *pending {
	if c.n == 0 {
		return nil
	}
	p := *c.bucket(xid)
	for p != nil && p.xid != xid {
		p = p.next
	}
	return p
}

// add adds a Call, whose XID no other one has.
func (c *calls) add(p *pending) {
	if c.n == len(c.buckets) {
		c.grow()
	}
	c.n++
	first := c.bucket(p.xid)
	p.next, *first = *first, p
}

// remove removes a Call, which must be there.
func (c *calls) remove(p *pending) {
	at := c.bucket(p.xid)
	for *at != p {
		at = &(*at).next
	}
	*at, p.next = p.next, nil
	c.n--
}

// grow doubles the number of buckets.
func (c *calls) grow() {
	all := c.sorted()
	c.buckets, c.n = make([]*pending, max(8, 2*len(c.buckets))), 0
	for _, p := range all {
		c.add(p)
	}
}

// sorted returns all Calls in the order of their XIDs.
func (c *calls) sorted() []*pending {
	all := make([]*pending, 0, c.n)
	for _, p := range c.buckets {
		for ; p != nil; p = p.next {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *pending) int { return cmp.Compare(a.xid, b.xid) })
	return all
}

// Outstanding implements protocol.Calls.
func (c *calls) Outstanding(xid uint32) bool { return c.get(xid).outstanding() }
