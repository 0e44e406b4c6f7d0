package rdmaiotest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Limited is a device of a process that may have so many bytes of memory for it, as RLIMIT_MEMLOCK
// does for hardware. It counts the memory of Alloc, so it belongs below package fault with
// fault.Plain.
type Limited struct {
	verbs.Device

	mu     sync.Mutex
	limit  int // 0: none
	gone   bool
	pinned int // bytes of Alloc
	peak   int // the largest number of them since Limit
}

// NewLimited wraps a device of a provider. It has no limit before Limit.
func NewLimited(d verbs.Device) *Limited { return &Limited{Device: d} }

// Limit sets the largest number of bytes. 0 means any number. A call of Alloc beyond it fails with
// verbs.ErrProcessLimit.
func (d *Limited) Limit(bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limit, d.peak = bytes, d.pinned
}

// Remove makes each further call of Alloc fail with verbs.ErrDeviceRemoved, as on a device that is
// about to end its connections.
func (d *Limited) Remove() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.gone = true
}

// Pinned returns the number of bytes, and the largest number of them since Limit.
func (d *Limited) Pinned() (now, most int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pinned, d.peak
}

// pin counts n more bytes, or -n fewer.
func (d *Limited) pin(n int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.gone && n > 0 {
		return fmt.Errorf("limited: %d bytes more: %w", n, verbs.ErrDeviceRemoved)
	}
	if d.limit > 0 && n > 0 && d.pinned+n > d.limit {
		return fmt.Errorf("limited: %d bytes more than %d, at most %d: %w", n, d.pinned, d.limit, verbs.ErrProcessLimit)
	}
	d.pinned += n
	d.peak = max(d.peak, d.pinned)
	return nil
}

// AllocPD implements verbs.Device.
func (d *Limited) AllocPD() (verbs.ProtectionDomain, error) {
	pd, err := d.Device.AllocPD()
	if err != nil {
		return nil, err
	}
	return &limitedDomain{ProtectionDomain: pd, dev: d, sizes: make(map[*byte]int)}, nil
}

type limitedDomain struct {
	verbs.ProtectionDomain
	dev *Limited

	mu    sync.Mutex
	sizes map[*byte]int // by the first byte
}

func (pd *limitedDomain) Alloc(n int) ([]byte, error) {
	if err := pd.dev.pin(n); err != nil {
		return nil, err
	}
	b, err := pd.ProtectionDomain.Alloc(n)
	if err != nil {
		return nil, errors.Join(err, pd.dev.pin(-n))
	}
	pd.mu.Lock()
	defer pd.mu.Unlock()
	pd.sizes[&b[0]] = n
	return b, nil
}

func (pd *limitedDomain) Free(b []byte) error {
	at := &b[:1][0]
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if err := pd.ProtectionDomain.Free(b); err != nil {
		return err
	}
	n := pd.sizes[at]
	delete(pd.sizes, at)
	return pd.dev.pin(-n)
}
