package fault

import (
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// outstanding has the requests of a send queue whose completions were not polled, in order, for the
// manners that need to know more about a request than its completion says.
type outstanding struct {
	mu   sync.Mutex
	list []posted
}

// posted is a request.
type posted struct {
	id       uint64
	signaled bool
	reads    *memoryRegion // the peer's region of a Read, with LateReads
}

func (o *outstanding) add(p posted) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, p)
}

// drop removes the last n requests, which the provider has refused.
func (o *outstanding) drop(n int) {
	o.mu.Lock()
	gone := append([]posted(nil), o.list[len(o.list)-n:]...)
	o.list = o.list[:len(o.list)-n]
	o.mu.Unlock()
	finish(gone)
}

// completed removes the requests up to the oldest signaled one, which has completed with success.
func (o *outstanding) completed() {
	o.mu.Lock()
	n := 0
	for n < len(o.list) && !o.list[n].signaled {
		n++
	}
	n = min(n+1, len(o.list))
	gone := append([]posted(nil), o.list[:n]...)
	o.list = append(o.list[:0], o.list[n:]...)
	o.mu.Unlock()
	finish(gone)
}

// signaled reports whether the oldest request with an id is signaled.
func (o *outstanding) signaled(id uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.list {
		if p.id == id {
			return p.signaled
		}
	}
	return false
}

// clear finishes all Reads: the connection is closed.
func (o *outstanding) clear() {
	o.mu.Lock()
	gone := append([]posted(nil), o.list...)
	for i := range o.list {
		o.list[i].reads = nil
	}
	o.mu.Unlock()
	finish(gone)
}

func finish(requests []posted) {
	for _, p := range requests {
		if p.reads != nil {
			p.reads.readEnded()
		}
	}
}

// tracks reports whether a manner needs to know the outstanding requests.
func (i *Injector) tracks() bool { return i.has(UnnoticedSend | LateReads) }

// manner changes a copied batch as the manners of the device do, and remembers its requests.
func (q *queuePair) manner(wrs []verbs.SendWR) {
	inj := q.dev.inj
	if inj.has(ShuffledWrites) {
		inj.shuffle(wrs)
	}
	for i := range wrs {
		wr := &wrs[i]
		p := posted{id: wr.WRID, signaled: wr.Flags&verbs.SendSignaled != 0}
		switch wr.Opcode {
		case verbs.RDMAWrite, verbs.RDMARead:
			mr, own := inj.keys.find(wr.RKey)
			switch wr.RKey = own; {
			case mr == nil || !inj.has(LateReads):
			case mr.isLate(): // only Reads that were in progress may go on
				wr.RKey = 0
			case wr.Opcode == verbs.RDMARead && mr.readBegins():
				p.reads = mr
			}
		case verbs.SendWithInvalidate, verbs.LocalInvalidate:
			_, wr.InvalidateRKey = inj.keys.find(wr.InvalidateRKey)
		}
		if inj.tracks() {
			q.outstanding.add(p)
		}
	}
}

// shuffle permutes the sources and targets of the Writes in a run. A run is unsignaled Writes up to
// a signaled one. Its completion covers all of them, so their order cannot be seen. Ids and flags
// stay.
func (i *Injector) shuffle(wrs []verbs.SendWR) {
	for from := 0; from < len(wrs); {
		to := from
		for to < len(wrs) && wrs[to].Opcode == verbs.RDMAWrite && (to == from || wrs[to].Flags&verbs.SendFence == 0) {
			if to++; wrs[to-1].Flags&verbs.SendSignaled != 0 {
				break
			}
		}
		for n := to - from; n > 1; n-- { // Fisher and Yates
			a, b := &wrs[from+n-1], &wrs[from+i.pick(ShuffledWrites, n)]
			a.SGL, b.SGL = b.SGL, a.SGL
			a.RemoteAddr, b.RemoteAddr = b.RemoteAddr, a.RemoteAddr
			a.RKey, b.RKey = b.RKey, a.RKey
		}
		from = max(to, from+1)
	}
}
