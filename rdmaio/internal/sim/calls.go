package sim

import (
	"bytes"
	"slices"
)

// calls has the RPCs of a simulation.
//
//	left ──> made ──> tried over a connection ──> it has an outcome
//	           ▲          │ the connection is broken, or the server may not send yet
//	           └─ waiting ┘
type calls struct {
	tags     uint64
	xids     [2]uint32          // the same numbers in both directions (R268)
	left     [2]int             // RPCs to be made
	rpcs     map[uint64]*rpc    // by tag
	byXID    [2]map[uint32]*rpc // by side that made them, and XID
	waiting  [2][]*rpc          // RPCs that wait for a connection
	ended    int                // RPCs with an outcome
	returned [][]byte           // memory for replies that did not come
}

// newCalls returns n RPCs for the client to make. With reverse, the server makes a third as many.
func newCalls(n int, reverse bool) calls {
	c := calls{rpcs: make(map[uint64]*rpc), byXID: [2]map[uint32]*rpc{{}, {}}}
	if c.left[0] = n; reverse {
		c.left[1] = n / 3
	}
	return c
}

// number returns the numbers of the next RPC.
func (c *calls) number(from int) (tag uint64, xid uint32) {
	c.tags++
	c.xids[from]++
	return c.tags, c.xids[from]
}

// add adds an RPC that was left to be made.
func (c *calls) add(p *rpc) {
	c.left[p.from]--
	c.rpcs[p.tag], c.byXID[p.from][p.xid] = p, p
}

// wait lets an RPC wait for the next connection.
func (c *calls) wait(p *rpc) { c.waiting[p.from] = append(c.waiting[p.from], p) }

// leave takes an RPC from those that wait, and reports whether it was among them.
func (c *calls) leave(p *rpc) bool {
	i := slices.Index(c.waiting[p.from], p)
	if i >= 0 {
		c.waiting[p.from] = slices.Delete(c.waiting[p.from], i, i+1)
	}
	return i >= 0
}

// resume returns the RPCs of a side that wait. They wait no longer.
func (c *calls) resume(from int) []*rpc {
	list := c.waiting[from]
	c.waiting[from] = nil
	return list
}

// areOver reports whether no RPC is left, and each one has an outcome.
func (c *calls) areOver() bool { return c.left == [2]int{} && c.ended == int(c.tags) }

// verdict checks the final state.
func (c *calls) verdict(fail func(format string, args ...any)) {
	for _, b := range c.returned {
		if !bytes.Equal(b, poisoned(len(b))) {
			fail("memory for a reply of %d bytes was written after its Call", len(b))
		}
	}
}
