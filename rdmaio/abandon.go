package rdmaio

// redirect moves the regions of a cancelled Call to its leftover. Regions that cannot be redirected
// remain: their keys are invalidated now, and a late access breaks the connection (R290).
func (c *caller) redirect(s *slot) {
	l := s.left
	kept := s.regions[:0]
	for _, mr := range s.regions {
		if n := mr.Len(); c.offered.abandoned.Take(n) {
			ok, err := c.pool.Detach(&mr.Region)
			if err != nil {
				c.log.Warn("rdmaio: a key of a cancelled Call could not be redirected", "queue_pair", c.qp.Num(), "reason", err)
			}
			if ok {
				l.regions = append(l.regions, mr.Region)
				l.bytes += n
				if mr.chunk == ownReplyChunk {
					s.returnReplyMemory(c)
				}
				continue
			}
			c.offered.abandoned.Give(n)
		}
		kept = append(kept, mr)
	}
	clear(s.regions[len(kept):])
	if s.regions = kept; len(kept) > 0 && len(l.regions) > 0 {
		c.offered.offers.begin() // the leftover has keys, and so has the Call
	}
	c.dropLeftover(l)
}

// dropLeftover invalidates the keys of a leftover at its second call. The caller and the engine
// make one call each.
func (c *caller) dropLeftover(l *leftover) {
	if l.halves.Add(1) < 2 {
		return
	}
	for i := range l.regions {
		if err := c.pool.Drop(&l.regions[i]); err != nil {
			c.fail(err)
		}
	}
	if len(l.regions) > 0 {
		c.offered.offers.end()
	}
	c.offered.abandoned.Give(l.bytes)
}
