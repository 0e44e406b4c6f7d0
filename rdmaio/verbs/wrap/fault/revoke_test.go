package fault_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// A revocation that waits for a silent peer ends with the connection, once.
func TestRevocationHeldUntilTheEnd(t *testing.T) {
	var held []func()
	_, c, _ := connected(t, fault.Config{Revoke: func(end func()) { held = append(held, end) }})
	reports := make(chan error, 2)
	if err := c.qp.(verbs.Revoker).Revoke([]verbs.MemoryRegion{c.mr}, func(err error) { reports <- err }); err != nil {
		t.Fatal(err)
	}
	if len(held) != 1 || len(reports) != 0 || c.mr.State() != verbs.MRValid {
		t.Errorf("%d revocations are held and %d reported, region %v, want 1, none and valid", len(held), len(reports), c.mr.State())
	}
	if err := c.qp.Disconnect(); err != nil {
		t.Fatal(err)
	}
	<-c.lost
	if n := len(reports); n != 1 || <-reports != nil || c.mr.State() != verbs.MRInvalid {
		t.Errorf("%d reports, region %v after the end", n, c.mr.State())
	}
	held[0]()
	if err := c.qp.(verbs.Revoker).Revoke([]verbs.MemoryRegion{c.mr}, func(err error) { reports <- err }); err != nil {
		t.Fatal(err)
	}
	if len(held) != 1 || len(reports) != 1 {
		t.Errorf("%d revocations are held and %d reported after the end, want one of each", len(held), len(reports))
	}
}

// FailInvalidate makes a revocation report an error, and leaves all regions valid. Without
// Config.Revoke, and without a Revoker below, queue pairs do not support Revoke.
func TestRevocationFails(t *testing.T) {
	inj, c, _ := connected(t, fault.Config{
		Script: []fault.Fault{{Kind: fault.FailInvalidate, At: 1}},
		Revoke: func(end func()) { end() },
	})
	if err := verbs.Invalidate(c.qp, c.mr); !errors.Is(err, verbs.ErrBusy) || c.mr.State() != verbs.MRValid {
		t.Errorf("%v, region %v, want it valid and %v", err, c.mr.State(), verbs.ErrBusy)
	}
	if err := verbs.Invalidate(c.qp, c.mr); err != nil || c.mr.State() != verbs.MRInvalid {
		t.Errorf("%v, region %v, want it invalid", err, c.mr.State())
	}
	if n := inj.Count(fault.FailInvalidate); n.Seen != 2 || n.Fired != 1 {
		t.Errorf("%+v", n)
	}
	_, c, _ = connected(t, fault.Config{})
	if err := c.qp.(verbs.Revoker).Revoke(nil, nil); !errors.Is(err, verbs.ErrNotSupported) {
		t.Errorf("without Config.Revoke: %v, want %v", err, verbs.ErrNotSupported)
	}
	if err := verbs.Invalidate(c.qp, c.mr); err != nil || c.mr.State() != verbs.MRInvalid {
		t.Errorf("one after the other: %v, region %v", err, c.mr.State())
	}
	if err := verbs.Invalidate(c.qp, nil); !errors.Is(err, verbs.ErrForeignObject) {
		t.Errorf("no region: %v, want %v", err, verbs.ErrForeignObject)
	}
}

// The peer may invalidate a region without a report, so that the wrapper takes it for valid. A
// revocation by the provider corrects that, too: the region can be registered again.
func TestRevocationByTheProvider(t *testing.T) {
	below := fault.New(fault.Config{Revoke: func(end func()) { end() }})
	above := fault.New(fault.Config{Manners: fault.UnreportedInvalidate | fault.GuessableKeys})
	client, server := devices(t, below)
	c, s := newSide(t, above.Device(client)), newSide(t, above.Device(server))
	if dial, accept := connect(t, c, s); dial != nil || accept != nil {
		t.Fatal(dial, accept)
	}
	mr := c.register(verbs.AccessRemoteRead | verbs.AccessRemoteInvalidate)
	if wc := invalidates(t, c, s, mr); wc.InvalidatedRKey != 0 || mr.State() != verbs.MRValid {
		t.Errorf("%+v, region %v", wc, mr.State())
	}
	regions, reports := []verbs.MemoryRegion{mr}, 0
	err := c.qp.(verbs.Revoker).Revoke(regions, func(err error) {
		if reports++; err != nil {
			t.Error(err)
		}
	})
	if err != nil || reports != 1 || mr.State() != verbs.MRInvalid {
		t.Errorf("revoke: %v, %d reports, region %v", err, reports, mr.State())
	}
	if err := mr.Reregister(mr.Bytes(), mr.Access()); err != nil {
		t.Error(err)
	}
}
