package soft

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

var _ verbs.OnDemand = (*Region)(nil)

// ReregisterOnDemand implements verbs.OnDemand.
func (mr *Region) ReregisterOnDemand(size int, access verbs.Access, memory func() ([]byte, error)) error {
	d := mr.pd.dev
	if err := d.Usable(); err != nil {
		return err
	}
	switch {
	case size < 1 || memory == nil:
		return fmt.Errorf("%s: register on demand: %d bytes, want at least 1, and a function that returns them: %w", d.provider, size, verbs.ErrInvalidValue)
	case uint64(size) > d.attrs.MaxMRSize:
		return fmt.Errorf("%s: register on demand: %d bytes, limit is %d: %w", d.provider, size, d.attrs.MaxMRSize, verbs.ErrTooLarge)
	case !access.Valid(), access&verbs.AccessRemoteWrite == 0, access&verbs.AccessRemoteRead != 0:
		return fmt.Errorf("%s: register on demand: access %v, want remote-write without remote-read: %w", d.provider, access, verbs.ErrInvalidValue)
	}
	return mr.renew(nil, size, uint32(access)|noLocalUse, memory)
}

// provide gives memory to the region of an element that a peer is about to write. No lock of the
// region or its domain is held. The pin makes Invalidate wait for it.
func (e *Element) provide() Denial {
	if !e.Pin() {
		return Invalidated
	}
	defer e.Unpin()
	mr := e.Region
	mr.providing.Lock()
	defer mr.providing.Unlock()
	mr.mu.Lock()
	memory, has := mr.onDemand, mr.bufs[0] != nil
	mr.mu.Unlock()
	if has { // another queue pair of the domain was first
		return ""
	}
	buf, err := memory()
	if err == nil && len(buf) != int(mr.size.Load()) {
		err = fmt.Errorf("%d bytes, want %d", len(buf), mr.size.Load())
	}
	if err == nil {
		err = mr.pd.checkBuffer(buf, mr.Access())
	}
	if err != nil {
		return Denial("region has no memory: " + err.Error())
	}
	mr.mu.Lock()
	mr.bufs[0] = buf
	mr.mu.Unlock()
	return ""
}
