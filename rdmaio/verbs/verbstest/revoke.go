package verbstest

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// revocation is a call of Revoke with its report.
type revocation struct {
	report chan error
	calls  atomic.Int32 // of done
}

// revoke starts to revoke regions. It returns nil, and the error, if Revoke refuses them.
func (e *end) revoke(regions ...verbs.MemoryRegion) (*revocation, error) {
	r := &revocation{report: make(chan error, 2)}
	list := append([]verbs.MemoryRegion(nil), regions...)
	err := e.qp.(verbs.Revoker).Revoke(list, func(err error) {
		r.calls.Add(1)
		r.report <- err
	})
	clear(list) // it is the caller's again
	if err != nil {
		return nil, err
	}
	return r, nil
}

// revoked waits for the report of a revocation, which must say that all is invalid.
func (e *end) revoked(r *revocation, regions ...verbs.MemoryRegion) {
	e.h.Helper()
	ctx, cancel := e.h.context()
	defer cancel()
	select {
	case err := <-r.report:
		e.h.check("revoke", err)
	case <-ctx.Done():
		e.h.Fatalf("no report of a revocation after %v", e.h.Timeout)
	}
	for i, mr := range regions {
		if mr.State() != verbs.MRInvalid {
			e.h.Errorf("region %d of %d is %v after the report of a revocation", i, len(regions), mr.State())
		}
	}
}

// needRevoker skips the case if the provider's queue pairs do not implement Revoker.
func needRevoker(h *harness) {
	h.Helper()
	e := h.newEnd(h.Server, verbs.QPConfig{})
	if _, ok := e.qp.(verbs.Revoker); ok {
		r, err := e.revoke()
		if err == nil {
			e.revoked(r)
			return
		}
		h.wantErr("revoke nothing", err, verbs.ErrNotSupported)
	}
	h.Skip("the queue pairs are not Revokers")
}

// R290: a peer cannot use any of the keys after the report.
func testRevoke(h *harness) {
	needRevoker(h)
	for at := range 3 {
		for _, op := range []verbs.Opcode{verbs.RDMAWrite, verbs.RDMARead} {
			h.refused("revoked", op, 8, func(c, s *end) (verbs.MemoryRegion, verbs.SendWR) {
				regions := []verbs.MemoryRegion{s.region(8, remoteRW), s.region(8, remoteRW), s.region(8, remoteRW)}
				r, err := s.revoke(regions...)
				h.must("revoke", err)
				s.revoked(r, regions...)
				return regions[at], verbs.SendWR{RKey: regions[at].RKey(), RemoteAddr: regions[at].RemoteAddr()}
			})
		}
	}
	_, s := h.connected()
	valid, invalid, local := s.region(8, remoteRW), s.region(8, remoteRW), s.region(8, 0)
	h.must("invalidate", invalid.Invalidate())
	r, err := s.revoke(invalid, valid, local)
	h.must("revoke", err)
	s.revoked(r, valid, invalid, local)
	h.must("reregister", valid.Reregister(valid.Bytes(), remoteRW))
	h.must("revoke and wait", verbs.Invalidate(s.qp, valid, invalid))
	if valid.State() != verbs.MRInvalid {
		h.Errorf("state %v after Invalidate of package verbs", valid.State())
	}
}

// A revocation that is refused has no effect.
func testRevokeRefused(h *harness) {
	needRevoker(h)
	_, s := h.connected()
	mr, gone := s.region(8, remoteRW), s.region(8, remoteRW)
	h.must("deregister", gone.Deregister())
	for name, tt := range map[string]struct {
		mr   verbs.MemoryRegion
		want error
	}{
		"deregistered":   {gone, verbs.ErrClosed},
		"foreign domain": {h.newEnd(h.Server, verbs.QPConfig{}).region(8, remoteRW), verbs.ErrForeignObject},
		"none":           {nil, verbs.ErrForeignObject},
	} {
		if _, err := s.revoke(mr, tt.mr); !errors.Is(err, tt.want) {
			h.Errorf("revoke with a region that is %s: error %v, want %v", name, err, tt.want)
		}
	}
	if mr.State() != verbs.MRValid {
		h.Errorf("state %v after refused revocations", mr.State())
	}
}

// A revocation is reported in each state of the queue pair, and once.
func testRevokeStates(h *harness) {
	needRevoker(h)
	e := h.newEnd(h.Server, verbs.QPConfig{})
	revoke := func(state string) {
		h.Helper()
		mr := e.region(8, remoteRW)
		r, err := e.revoke(mr)
		h.must("revoke in "+state, err)
		e.revoked(r, mr)
		if r.calls.Load() != 1 {
			h.Errorf("%d reports of a revocation in %s, want 1", r.calls.Load(), state)
		}
	}
	revoke("StateInit")
	h.must("disconnect", e.qp.Disconnect())
	revoke("StateError")
	h.must("close", e.qp.Close())
	revoke("StateClosed")
}

// When the connection is closed, each revocation is reported, and only once.
func testRevokeEnd(h *harness) {
	needRevoker(h)
	for range 20 {
		c, s := h.connected()
		var regions [8]verbs.MemoryRegion
		for i := range regions {
			regions[i] = s.region(8, remoteRW)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := c.qp.Disconnect(); err != nil {
				h.Error(err)
			}
		})
		var all [len(regions)]*revocation
		for i, mr := range regions {
			var err error
			all[i], err = s.revoke(mr)
			h.must("revoke", err)
		}
		wg.Wait()
		h.must("close", s.qp.Close())
		for i, r := range all {
			if n := r.calls.Load(); n != 1 {
				h.Fatalf("%d reports of a revocation when Close has returned, want 1", n)
			}
			s.revoked(r, regions[i])
		}
	}
}

// After the report no byte changes, though the peer writes all the time.
func testRevokeRace(h *harness) {
	needRevoker(h)
	for range 30 {
		c, s := h.connected()
		mr, other := s.region(4096, remoteRW), s.region(8, remoteRW)
		src := c.region(4096, 0)
		for i := range src.Bytes() {
			src.Bytes()[i] = 1
		}
		key, addr := mr.RKey(), mr.RemoteAddr()
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 20 {
				_, err := c.qp.PostSend([]verbs.SendWR{{WRID: uint64(i), Opcode: verbs.RDMAWrite, Flags: signaled, SGL: []verbs.SGE{whole(src)}, RKey: key, RemoteAddr: addr}})
				if err != nil {
					return // it is refused, and the connection is down
				}
			}
		})
		r, err := s.revoke(mr, other)
		h.must("revoke", err)
		s.revoked(r, mr, other)
		buf := mr.Bytes()
		clear(buf)
		wg.Wait()
		for i, b := range buf {
			if b != 0 {
				h.Fatalf("byte %d was written after the report of a revocation", i)
			}
		}
		h.must("close", c.qp.Close())
	}
}
