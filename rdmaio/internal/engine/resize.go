package engine

// receives has the sizes of the Receives. Posted Receives cannot be taken back, so a new size
// applies to each when it is posted next (R237).
type receives struct {
	size    int     // of Receives to be posted
	posted  []int32 // size of each that is posted, or 0
	agreed  int     // no posted Receive is smaller, and the peer keeps to it
	pending bool    // Effects.Resized is due when no smaller one is posted
}

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
