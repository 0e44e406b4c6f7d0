package rdmaio

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/mrpool"
)

// revoke invalidates all keys of a Call together, except those that the peer has invalidated, and
// waits. It is for devices that can do that.
func (s *slot) revoke(c *caller) error {
	r := &s.keys
	for i := range s.regions {
		if mr := &s.regions[i]; !s.endedByPeer(mr) {
			r.keys = append(r.keys, mr.MemoryRegion)
		}
	}
	if len(r.keys) == 0 {
		return nil
	}
	if r.report == nil {
		r.ended = make(chan error, 1)
		r.report = func(err error) { r.ended <- err }
	}
	err := c.pool.Revoke(r.keys, r.report)
	clear(r.keys)
	r.keys = r.keys[:0]
	if err == nil {
		c.lone.resume()
		err = <-r.ended
	}
	return err
}

// endKey invalidates the key of a region and takes the region back. If together is true, revoke has
// invalidated the key, or failed with an error.
func (s *slot) endKey(p *mrpool.Pool, mr *callRegion, together bool, failed error) error {
	switch {
	case s.endedByPeer(mr):
		return p.Invalidated(&mr.Region)
	case !together:
		return p.Release(&mr.Region)
	case failed != nil:
		return failed
	}
	return p.Revoked(&mr.Region)
}
