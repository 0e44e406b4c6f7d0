package gss

// SetNext sets the next sequence number of the Carrier's context.
func (c *Carrier) SetNext(seq uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.current.numbers
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next, n.order = seq, nil
}
