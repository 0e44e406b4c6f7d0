package trace

import (
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// receives holds the posted Receives of a queue pair, to find the start of their messages.
type receives struct {
	mu   sync.Mutex
	sgls [][]verbs.SGE
}

// receivesOf returns a queue pair's Receives, or nil without Config.Head.
func (d *device) receivesOf(num uint32) *receives {
	r, ok := d.receives.Load(num)
	if !ok {
		return nil
	}
	return r.(*receives)
}

// post adds a Receive.
func (r *receives) post(sgl []verbs.SGE) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sgls = append(r.sgls, append([]verbs.SGE(nil), sgl...))
}

// refuse removes the last n.
func (r *receives) refuse(n int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sgls = r.sgls[:max(0, len(r.sgls)-n)]
}

// complete removes the oldest Receive for its completion, and returns the first n bytes of its
// message.
func (r *receives) complete(wc *verbs.WC, n int) string {
	if r == nil || wc.Opcode != verbs.WCRecv {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sgls) == 0 {
		return ""
	}
	sgl := r.sgls[0]
	r.sgls = r.sgls[1:]
	if wc.Status != verbs.StatusSuccess {
		return ""
	}
	return head(received(sgl, wc), n)
}
