package ibverbs

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

// registry finds the object of an event: a queue pair by the number that its completion queue has
// (queuePair.user) or by its handle, and a listener or connection by the handle of its rdma_cm_id.
// After close it has no rdma_cm_id, and takes none.
type registry struct {
	lastUser atomic.Uint32

	mu     sync.Mutex
	queues map[uintptr]*queuePair // by queuePair.user
	byQP   map[lib.QP]*queuePair
	ids    map[lib.ID]cmObject // nil after close
}

// cmObject handles the events of an rdma_cm_id. It must not wait.
type cmObject interface{ handle(abi.CMEvent) }

func (r *registry) open() {
	r.queues, r.byQP, r.ids = make(map[uintptr]*queuePair), make(map[lib.QP]*queuePair), make(map[lib.ID]cmObject)
}

// close forgets each rdma_cm_id, and returns their objects.
func (r *registry) close() map[lib.ID]cmObject {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := r.ids
	r.ids = nil
	return ids
}

func (r *registry) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids == nil
}

// nextUser returns a number for a queue pair: never 0, and one that was used comes again only after
// all others.
func (r *registry) nextUser() uintptr {
	for {
		if n := r.lastUser.Add(1); n != 0 {
			return uintptr(n)
		}
	}
}

func (r *registry) addQueue(q *queuePair) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queues[q.user] = q
}

// nameQueue makes asynchronous events reach the queue pair.
func (r *registry) nameQueue(q *queuePair) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byQP[q.hw] = q
}

func (r *registry) dropQueue(q *queuePair) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.queues, q.user)
	if r.byQP[q.hw] == q {
		delete(r.byQP, q.hw)
	}
}

// queue returns the queue pair with a number, or nil.
func (r *registry) queue(user uintptr) *queuePair {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queues[user]
}

// queueOf returns the queue pair of an asynchronous event, or nil.
func (r *registry) queueOf(e abi.AsyncEvent) *queuePair {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Type != abi.AsyncCQErr {
		return r.byQP[lib.QP(e.Element)]
	}
	for _, q := range r.queues {
		if uintptr(q.cq) == e.Element {
			return q
		}
	}
	return nil
}

func (r *registry) addID(id lib.ID, o cmObject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ids != nil {
		r.ids[id] = o
	}
}

func (r *registry) dropID(id lib.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ids, id)
}

// object returns the object of an rdma_cm_id, or nil.
func (r *registry) object(id lib.ID) cmObject {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ids[id]
}
