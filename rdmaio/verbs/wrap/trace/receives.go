package trace

import (
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// receives are the posted Receives of a queue pair, for what their messages begin with.
type receives struct {
	mu   sync.Mutex
	sgls [][]verbs.SGE
}

// heads are those of a queue pair; nil without Config.Head.
func (d *device) receivesOf(num uint32) *receives {
	r, ok := d.receives.Load(num)
	if !ok {
		return nil
	}
	return r.(*receives)
}

// post remembers where a message will be.
func (r *receives) post(sgl []verbs.SGE) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sgls = append(r.sgls, append([]verbs.SGE(nil), sgl...))
}

// refuse forgets the last n.
func (r *receives) refuse(n int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sgls = r.sgls[:max(0, len(r.sgls)-n)]
}

// complete gives the first n bytes of the message that a completion brought: Receives are used in their order.
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
	return head(prefix(sgl, int(wc.ByteLen)), n)
}
