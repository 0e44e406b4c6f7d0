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

// InUse returns the number of calls that use a context.
func (h *Handler) InUse() (n int) {
	h.complete.mu.Lock()
	defer h.complete.mu.Unlock()
	for _, s := range h.complete.sessions {
		n += s.users
	}
	return n
}
