package engine

// resize changes the size of Receives, within the memory that they have.
func (e *Engine) resize(size int) {
	r := &e.receives
	r.size = max(min(size, e.cfg.ReceiveMost), 1)
	for i := range e.recvSGL {
		e.recvSGL[i].Length = r.size
	}
	r.pending = true
	if r.size < r.agreed { // R238: it was cut on request of the peer
		r.agreed = r.size
		e.negotiation.setTerms()
	}
}

// resized reports a change of size that is complete.
func (e *Engine) resized() {
	r := &e.receives
	if !r.pending {
		return
	}
	for _, n := range r.posted {
		if n != 0 && int(n) < r.size {
			return
		}
	}
	r.pending, e.eff.Resized = false, r.size
	if r.size != r.agreed {
		r.agreed = r.size
		e.negotiation.setTerms()
	}
}
