package rdmaio

import (
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
)

// abandonedBytes is how much memory of its own a connection may keep for what its cancelled Calls offered.
const abandonedBytes = 16 << 20

// leftover is what a cancelled Call had offered, whose Reply may still come. The caller has its memory back; the keys stand for
// memory of the pool until the peer uses them no longer, so that an access that is late does no harm (RFC 8166 §4.4.1 asks for
// the caller's memory to be out of reach; R289).
type leftover struct {
	regions []mrpool.Region
	bytes   int
	halves  atomic.Int32 // the caller has detached the regions; the engine has seen the Reply, or the end
}

// leave moves the regions of a cancelled Call to its leftover. Those that cannot be moved remain: their keys end now, and a late
// access ends the connection (R290).
func (c *Conn) leave(s *slot) {
	l := s.left
	kept := s.regions[:0]
	for _, mr := range s.regions {
		if n := len(mr.Bytes()); c.abandoned.take(n) {
			ok, err := c.pool.Detach(&mr.Region)
			if err != nil {
				c.log.Warn("rdmaio: memory of a cancelled call", "queue_pair", c.qp.Num(), "reason", err)
			}
			if ok {
				l.regions = append(l.regions, mr.Region)
				l.bytes += n
				continue
			}
			c.abandoned.give(n)
		}
		kept = append(kept, mr)
	}
	clear(s.regions[len(kept):])
	s.regions = kept
	c.settled(l)
}

// settled ends the keys of a leftover when both the caller and the engine have finished with it.
func (c *Conn) settled(l *leftover) {
	if l.halves.Add(1) < 2 {
		return
	}
	for i := range l.regions {
		if err := c.pool.Drop(&l.regions[i]); err != nil {
			c.post(engine.Event{Kind: engine.EventClose, Err: err})
		}
	}
	c.abandoned.give(l.bytes)
}
