package trace

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// protectionDomain wraps a verbs.ProtectionDomain.
type protectionDomain struct {
	verbs.ProtectionDomain
	dev *device
}

func (pd *protectionDomain) Alloc(size int) ([]byte, error) {
	buf, err := pd.ProtectionDomain.Alloc(size)
	pd.dev.emit(Event{Kind: Alloc, Length: size, Err: err})
	return buf, err
}

func (pd *protectionDomain) Free(buf []byte) error {
	err := pd.ProtectionDomain.Free(buf)
	pd.dev.emit(Event{Kind: Free, Length: len(buf), Err: err})
	return err
}

func (pd *protectionDomain) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	inner, err := pd.ProtectionDomain.RegisterMemory(buf, access)
	if err != nil {
		pd.dev.emit(Event{Kind: Register, Length: len(buf), Access: access, Err: err})
		return nil, err
	}
	mr := &memoryRegion{MemoryRegion: inner, dev: pd.dev}
	mr.registered(Register, len(buf), access, nil)
	return mr, nil
}

func (pd *protectionDomain) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	qp := &queuePair{dev: pd.dev}
	notify := cfg.Notify
	cfg.SendCQ, cfg.RecvCQ, cfg.Notify = unwrapCQ(cfg.SendCQ), unwrapCQ(cfg.RecvCQ), func() {
		qp.lost()
		if notify != nil {
			notify()
		}
	}
	inner, err := pd.ProtectionDomain.CreateQP(cfg)
	if err != nil {
		pd.dev.emit(Event{Kind: CreateQP, Err: err})
		return nil, err
	}
	qp.QueuePair = inner
	if qp.msgs = pd.dev.newStream(inner.Num()); qp.msgs != nil {
		pd.dev.streams.Store(inner.Num(), qp.msgs)
	}
	if pd.dev.t.cfg.Head > 0 {
		pd.dev.receives.Store(inner.Num(), new(receives))
	}
	pd.dev.emit(Event{Kind: CreateQP, QP: inner.Num()})
	qp.made.Store(true)
	return qp, nil
}

func (pd *protectionDomain) Close() error {
	err := pd.ProtectionDomain.Close()
	pd.dev.emit(Event{Kind: ClosePD, Err: err})
	return err
}

// memoryRegion wraps a verbs.MemoryRegion.
type memoryRegion struct {
	verbs.MemoryRegion
	dev *device
}

func (mr *memoryRegion) registered(k Kind, size int, access verbs.Access, err error) {
	mr.dev.emit(Event{Kind: k, RKey: mr.RKey(), RemoteAddr: mr.RemoteAddr(), Length: size, Access: access, Err: err})
}

func (mr *memoryRegion) Reregister(buf []byte, access verbs.Access) error {
	err := mr.MemoryRegion.Reregister(buf, access)
	mr.registered(Reregister, len(buf), access, err)
	return err
}

// ReregisterOnDemand implements verbs.OnDemand.
func (mr *memoryRegion) ReregisterOnDemand(size int, access verbs.Access, memory func() ([]byte, error)) error {
	err := fmt.Errorf("trace: register on demand: %w", verbs.ErrNotSupported)
	if r, ok := mr.MemoryRegion.(verbs.OnDemand); ok {
		err = r.ReregisterOnDemand(size, access, memory)
	}
	mr.registered(Reregister, size, access, err)
	return err
}

func (mr *memoryRegion) Invalidate() error {
	err := mr.MemoryRegion.Invalidate()
	mr.dev.emit(Event{Kind: Invalidate, RKey: mr.RKey(), Err: err})
	return err
}

// Redirect implements verbs.Redirector.
func (mr *memoryRegion) Redirect(buf []byte) error {
	err := fmt.Errorf("trace: redirect: %w", verbs.ErrNotSupported)
	if r, ok := mr.MemoryRegion.(verbs.Redirector); ok {
		err = r.Redirect(buf)
	}
	mr.dev.emit(Event{Kind: Redirect, RKey: mr.RKey(), Length: len(buf), Err: err})
	return err
}

func (mr *memoryRegion) Deregister() error {
	err := mr.MemoryRegion.Deregister()
	mr.dev.emit(Event{Kind: Deregister, RKey: mr.RKey(), Err: err})
	return err
}
