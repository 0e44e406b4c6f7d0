package rdmaiotest

import (
	"context"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Plain is a device with the memory of hardware: only memory of Alloc can be registered, Receives
// need memory, and a key has its memory from the beginning, and the same one. Its process may have
// so many bytes of memory registered (Limit).
type Plain struct {
	verbs.Device

	mu     sync.Mutex
	limit  int // 0: none
	pinned int // bytes of Alloc
	peak   int // the largest number of them
	remote int // registrations with a right for the peer
}

// NewPlain wraps a device of a provider.
func NewPlain(d verbs.Device) *Plain { return &Plain{Device: d} }

// Limit sets the largest number of bytes that can be allocated. 0 means any number. A call beyond
// it fails with verbs.ErrProcessLimit.
func (d *Plain) Limit(bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limit = bytes
}

// Pinned returns the number of bytes that are allocated, and the largest number of them so far.
func (d *Plain) Pinned() (now, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pinned, d.peak
}

// Remote returns the number of registrations with a right for the peer so far.
func (d *Plain) Remote() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.remote
}

func (d *Plain) pin(n int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.limit > 0 && n > 0 && d.pinned+n > d.limit {
		return fmt.Errorf("plain: %d bytes, %d of %d are in use: %w", n, d.pinned, d.limit, verbs.ErrProcessLimit)
	}
	d.pinned += n
	d.peak = max(d.peak, d.pinned)
	return nil
}

func (d *Plain) registered(a verbs.Access) {
	if a.Remote() {
		d.mu.Lock()
		d.remote++
		d.mu.Unlock()
	}
}

// Attributes implements verbs.Device.
func (d *Plain) Attributes() verbs.DeviceAttributes {
	a := d.Device.Attributes()
	a.HeapMemory, a.LendReceives = false, false
	return a
}

// AllocPD implements verbs.Device.
func (d *Plain) AllocPD() (verbs.ProtectionDomain, error) {
	pd, err := d.Device.AllocPD()
	if err != nil {
		return nil, err
	}
	return &plainDomain{ProtectionDomain: pd, dev: d, sizes: make(map[*byte]int)}, nil
}

// Dial implements verbs.Device.
func (d *Plain) Dial(ctx context.Context, addr string, qp verbs.QueuePair, p *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return d.Device.Dial(ctx, addr, qp.(*plainQP).QueuePair, p)
}

// Listen implements verbs.Device.
func (d *Plain) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	ln, err := d.Device.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	return plainListener{ln}, nil
}

type plainListener struct{ verbs.Listener }

func (l plainListener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	r, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return plainRequest{r}, nil
}

type plainRequest struct{ verbs.ConnRequest }

func (r plainRequest) Accept(ctx context.Context, qp verbs.QueuePair, p *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return r.ConnRequest.Accept(ctx, qp.(*plainQP).QueuePair, p)
}

type plainDomain struct {
	verbs.ProtectionDomain
	dev *Plain

	mu    sync.Mutex
	sizes map[*byte]int // of what Alloc returned
}

func (pd *plainDomain) Alloc(n int) ([]byte, error) {
	if err := pd.dev.pin(n); err != nil {
		return nil, err
	}
	b, err := pd.ProtectionDomain.Alloc(n)
	if err != nil {
		pd.dev.pin(-n)
		return nil, err
	}
	pd.mu.Lock()
	defer pd.mu.Unlock()
	pd.sizes[&b[0]] = n
	return b, nil
}

func (pd *plainDomain) Free(b []byte) error {
	at := &b[:1][0]
	if err := pd.ProtectionDomain.Free(b); err != nil {
		return err
	}
	pd.mu.Lock()
	defer pd.mu.Unlock()
	pd.dev.pin(-pd.sizes[at])
	delete(pd.sizes, at)
	return nil
}

func (pd *plainDomain) check(b []byte) error {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.sizes[&b[0]] < len(b) {
		return fmt.Errorf("plain: register %d bytes that are not from Alloc: %w", len(b), verbs.ErrNotSupported)
	}
	return nil
}

func (pd *plainDomain) RegisterMemory(b []byte, a verbs.Access) (verbs.MemoryRegion, error) {
	if err := pd.check(b); err != nil {
		return nil, err
	}
	mr, err := pd.ProtectionDomain.RegisterMemory(b, a)
	if err != nil {
		return nil, err
	}
	pd.dev.registered(a)
	return &plainRegion{mr, pd}, nil
}

func (pd *plainDomain) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	qp, err := pd.ProtectionDomain.CreateQP(cfg)
	if err != nil {
		return nil, err
	}
	return &plainQP{qp}, nil
}

type plainRegion struct {
	verbs.MemoryRegion
	pd *plainDomain
}

func (r *plainRegion) Reregister(b []byte, a verbs.Access) error {
	if err := r.pd.check(b); err != nil {
		return err
	}
	err := r.MemoryRegion.Reregister(b, a)
	if err == nil {
		r.pd.dev.registered(a)
	}
	return err
}

type plainQP struct{ verbs.QueuePair }

func plainList(sgl []verbs.SGE) []verbs.SGE {
	out := append([]verbs.SGE(nil), sgl...)
	for i := range out {
		if r, ok := out[i].MR.(*plainRegion); ok {
			out[i].MR = r.MemoryRegion
		}
	}
	return out
}

func (q *plainQP) PostSend(wrs []verbs.SendWR) (int, error) {
	wrs = append([]verbs.SendWR(nil), wrs...)
	for i := range wrs {
		wrs[i].SGL = plainList(wrs[i].SGL)
	}
	return q.QueuePair.PostSend(wrs)
}

func (q *plainQP) PostRecv(wrs []verbs.RecvWR) (int, error) {
	wrs = append([]verbs.RecvWR(nil), wrs...)
	for i := range wrs {
		wrs[i].SGL = plainList(wrs[i].SGL)
	}
	return q.QueuePair.PostRecv(wrs)
}

// Revoke implements verbs.Revoker if the wrapped queue pair does.
func (q *plainQP) Revoke(regions []verbs.MemoryRegion, done func(error)) error {
	r, ok := q.QueuePair.(verbs.Revoker)
	if !ok {
		return verbs.ErrNotSupported
	}
	inner := append([]verbs.MemoryRegion(nil), regions...)
	for i := range inner {
		if w, ok := inner[i].(*plainRegion); ok {
			inner[i] = w.MemoryRegion
		}
	}
	return r.Revoke(inner, done)
}
