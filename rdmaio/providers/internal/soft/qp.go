package soft

import (
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// QueuePair is the part of a provider's queue pair that its domain and its completion queues
// know.
type QueuePair struct {
	PD             *Domain
	Cfg            verbs.QPConfig // with the defaults filled in
	SendCQ, RecvCQ *CompletionQueue

	SendUsed, RecvUsed atomic.Int32 // entries of requests whose completions were not polled

	num   uint32
	state atomic.Uint32 // a verbs.QPState; a change needs the provider's lock

	// unreported counts the completed requests of the send queue since the last completion. The
	// provider's lock guards it.
	unreported int32
}

// Num implements verbs.QueuePair.
func (q *QueuePair) Num() uint32 { return q.num }

// State implements verbs.QueuePair.
func (q *QueuePair) State() verbs.QPState { return verbs.QPState(q.state.Load()) }

// SetState sets the state. The provider's lock must be held.
func (q *QueuePair) SetState(s verbs.QPState) { q.state.Store(uint32(s)) }

// StartConnecting moves the queue pair from StateInit to StateConnecting. The provider's lock must
// be held.
func (q *QueuePair) StartConnecting() error {
	if s := q.State(); s != verbs.StateInit {
		return fmt.Errorf("queue pair %d is in state %v, want %v: %w", q.num, s, verbs.StateInit, verbs.ErrInvalidState)
	}
	q.SetState(verbs.StateConnecting)
	return nil
}

// Configure sets the configuration, after it has checked it and filled in defaults.
func (q *QueuePair) Configure(pd *Domain, num uint32, cfg verbs.QPConfig) error {
	d := pd.dev
	if err := d.Usable(); err != nil {
		return err
	}
	a := &d.attrs
	for _, f := range []struct {
		name       string
		value      *int
		def, limit int
	}{
		{"MaxSendWR", &cfg.MaxSendWR, 128, a.MaxSendWR},
		{"MaxRecvWR", &cfg.MaxRecvWR, 128, a.MaxRecvWR},
		{"MaxSendSGE", &cfg.MaxSendSGE, 4, a.MaxSendSGE},
		{"MaxRecvSGE", &cfg.MaxRecvSGE, 4, a.MaxRecvSGE},
	} {
		switch {
		case *f.value == 0:
			*f.value = min(f.def, f.limit)
		case *f.value < 0:
			return fmt.Errorf("%s: create queue pair: %s is %d, want 0 for the default or a positive number: %w", d.provider, f.name, *f.value, verbs.ErrInvalidValue)
		case *f.value > f.limit:
			return fmt.Errorf("%s: create queue pair: %s is %d, limit is %d: %w", d.provider, f.name, *f.value, f.limit, verbs.ErrTooLarge)
		}
	}
	if cfg.MaxBoundMRs < 0 { // otherwise unused: keys are not bound by requests
		return fmt.Errorf("%s: create queue pair: MaxBoundMRs is %d, want 0 for the default or a positive number: %w", d.provider, cfg.MaxBoundMRs, verbs.ErrInvalidValue)
	}
	sendCQ, okSend := cfg.SendCQ.(*CompletionQueue)
	recvCQ, okRecv := cfg.RecvCQ.(*CompletionQueue)
	switch {
	case cfg.SendCQ == nil || cfg.RecvCQ == nil:
		return fmt.Errorf("%s: create queue pair: SendCQ and RecvCQ are required: %w", d.provider, verbs.ErrInvalidValue)
	case !okSend || !okRecv || sendCQ.dev != d || recvCQ.dev != d:
		return fmt.Errorf("%s: create queue pair: completion queue: %w", d.provider, verbs.ErrForeignObject)
	}
	q.PD, q.num, q.Cfg, q.SendCQ, q.RecvCQ = pd, num, cfg, sendCQ, recvCQ
	return nil
}

// Register reserves entries of the completion queues and adds the queue pair to its domain
// and device. It has no effect if it fails.
func (q *QueuePair) Register(owner Owner) error {
	if err := q.register(owner); err != nil {
		return fmt.Errorf("%s: create queue pair: %w", q.PD.dev.provider, err)
	}
	return nil
}

func (q *QueuePair) register(owner Owner) error {
	if err := q.SendCQ.reserve(q.Cfg.MaxSendWR); err != nil {
		return err
	}
	if err := q.RecvCQ.reserve(q.Cfg.MaxRecvWR); err != nil {
		q.SendCQ.unreserve(q, q.Cfg.MaxSendWR)
		return err
	}
	pd := q.PD
	pd.mu.Lock()
	defer pd.mu.Unlock()
	pd.dev.mu.Lock()
	defer pd.dev.mu.Unlock()
	err := pd.dev.usable()
	if pd.closed {
		err = fmt.Errorf("protection domain: %w", verbs.ErrClosed)
	}
	if err != nil {
		q.SendCQ.unreserve(q, q.Cfg.MaxSendWR)
		q.RecvCQ.unreserve(q, q.Cfg.MaxRecvWR)
		return err
	}
	pd.queues[q], pd.dev.queues[q] = owner, owner
	pd.dev.ledger.add(q)
	return nil
}

// ReleaseCQs releases the entries of the completion queues. The queue pair must not add
// completions afterwards.
func (q *QueuePair) ReleaseCQs() {
	q.SendCQ.unreserve(q, q.Cfg.MaxSendWR)
	q.RecvCQ.unreserve(q, q.Cfg.MaxRecvWR)
}

// Unregister removes the queue pair from its domain and device, after ReleaseCQs.
func (q *QueuePair) Unregister() {
	pd := q.PD
	pd.mu.Lock()
	delete(pd.queues, q)
	pd.mu.Unlock()
	pd.dev.mu.Lock()
	delete(pd.dev.queues, q)
	pd.dev.ledger.remove(q)
	pd.dev.mu.Unlock()
}
