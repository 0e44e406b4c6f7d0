package sim

import (
	"bytes"
	"strings"
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
	executed map[uint64]int
	returned [][]byte // memory for replies that did not come
}

// newCalls returns n RPCs for the client to make. With reverse, the server makes a third as many.
func newCalls(n int, reverse bool) calls {
	c := calls{rpcs: make(map[uint64]*rpc), byXID: [2]map[uint32]*rpc{{}, {}}, executed: make(map[uint64]int)}
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

// resume returns the RPCs of a side that wait. They wait no longer.
func (c *calls) resume(from int) []*rpc {
	list := c.waiting[from]
	c.waiting[from] = nil
	return list
}

// areLeft reports whether there are RPCs to be made or sent.
func (c *calls) areLeft() bool {
	return len(c.waiting[0])+len(c.waiting[1])+c.left[0]+c.left[1] > 0
}

// verdict checks the final state. cache says that the servers have a reply cache.
func (c *calls) verdict(cache bool, fail func(format string, args ...any)) {
	for tag := uint64(1); tag <= c.tags; tag++ {
		p, n := c.rpcs[tag], c.executed[tag]
		switch {
		case p.outcome == "":
			fail("RPC %d never ended", tag)
		case n > 0 && !p.sent:
			fail("RPC %d: its error says that it was not sent, but it was executed", tag)
		case cache && n > 1, n > p.tries:
			fail("RPC %d was executed %d times in %d tries", tag, n, p.tries)
		case strings.HasPrefix(p.outcome, "ok") && n == 0:
			fail("RPC %d was answered but not executed", tag)
		}
	}
	for _, b := range c.returned {
		if !bytes.Equal(b, poisoned(len(b))) {
			fail("memory for a reply of %d bytes was written after its Call", len(b))
		}
	}
}
