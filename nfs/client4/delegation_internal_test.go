package client4

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// delegated returns a client of a server that gives delegations.
func (s *fake) delegating(t *testing.T, kind nfs42.OpenDelegationType, cfg Config) *Client {
	t.Helper()
	c := s.client(t, cfg)
	s.set(func() { s.give = kind })
	return c
}

// open opens x.
func open(t *testing.T, c *Client, flag int) *File {
	t.Helper()
	f, err := c.OpenFile(t.Context(), "x", flag, 0o600)
	check(t, err)
	return f
}

// handle is the handle of x.
var handle = nfs42.Handle("handle of x")

// recall returns the arguments that recall the delegation that the client holds of x.
func recallArgs(c *Client) *nfs42.CBRecallArgs {
	_, id := c.held.of(handle)
	return &nfs42.CBRecallArgs{FH: handle, StateID: id}
}

// wait waits until a condition holds.
func (s *fake) wait(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for range 2000 {
		var ok bool
		if s.set(func() { ok = reached() }); ok {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("not reached: " + what)
}

// logged returns the operations that have changed state since the last call.
func (s *fake) logged() (log []string) {
	s.set(func() { log, s.log = s.log, nil })
	return log
}

// Under a delegation a file is opened and closed without the server, with the rights that the
// server has allowed before.
func TestOpensUnderADelegation(t *testing.T) {
	s := &fake{}
	c := s.delegating(t, nfs42.OpenDelegationTypeWrite, Config{})
	first := open(t, c, os.O_RDWR)
	s.logged()
	for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREATE, os.O_RDWR | os.O_TRUNC} {
		f := open(t, c, flag)
		if flag != os.O_RDONLY {
			_, err := f.WriteAt([]byte("data"), 0)
			check(t, err)
		}
		check(t, f.Close())
	}
	got := open(t, c, os.O_RDONLY)
	b := make([]byte, 4)
	if n, err := got.ReadAt(b, 0); n != 4 || err != nil || string(b) != "data" {
		t.Errorf("%q, %v", b[:n], err)
	}
	check(t, got.Close())
	if log := s.logged(); len(log) > 0 {
		t.Errorf("the server had %v, expected nothing", log)
	}
	if _, err := c.OpenFile(t.Context(), "x", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		t.Error(err)
	}
	if log := s.logged(); !slices.Equal(log, []string{"open CLAIM_NULL"}) {
		t.Errorf("with O_EXCL the server had %v", log)
	}
	check(t, first.Close())
	s.set(func() {
		if len(s.delegs) != 1 {
			t.Errorf("%d delegations are held after Close, expected 1", len(s.delegs))
		}
	})
}

// A delegation to read, or one for another access, does not serve all opens.
func TestOpensBeyondADelegation(t *testing.T) {
	s := &fake{}
	c := s.delegating(t, nfs42.OpenDelegationTypeRead, Config{})
	check(t, open(t, c, os.O_RDONLY).Close())
	s.logged()
	check(t, open(t, c, os.O_RDONLY).Close())
	check(t, open(t, c, os.O_RDWR).Close())
	check(t, open(t, c, os.O_RDWR).Close())
	if log := s.logged(); !slices.Equal(log, []string{"open CLAIM_NULL", "open CLAIM_NULL"}) {
		t.Errorf("the server had %v, expected the opens for writing", log)
	}
	s = &fake{}
	c = s.delegating(t, nfs42.OpenDelegationTypeWrite, Config{})
	check(t, open(t, c, os.O_WRONLY).Close())
	s.logged()
	check(t, open(t, c, os.O_RDONLY).Close()) // the server has not allowed that so far
	check(t, open(t, c, os.O_RDWR).Close())
	if log := s.logged(); !slices.Equal(log, []string{"open CLAIM_NULL"}) {
		t.Errorf("the server had %v, expected the open for reading", log)
	}
}

// A recalled delegation is returned after its files are stored, and opened at the server.
func TestRecallClaimsOpens(t *testing.T) {
	s := &fake{}
	c := s.delegating(t, nfs42.OpenDelegationTypeWrite, Config{})
	check(t, open(t, c, os.O_RDWR).Close())
	f := open(t, c, os.O_RDWR)
	_, err := f.WriteAt([]byte("data"), 0)
	check(t, err)
	s.logged()
	args := recallArgs(c)
	for range 3 { // the server repeats itself
		if got := (callbacks{c}).Recall(t.Context(), args); got != nfs42.StatusOK && got != nfs42.StatusBadhandle {
			t.Errorf("CB_RECALL is answered with %v", got)
		}
	}
	s.wait(t, "the delegation is returned", func() bool { return len(s.delegs) == 0 })
	s.set(func() {
		if !bytes.Equal(s.stored, []byte("data")) {
			t.Errorf("stored %q before the return", s.stored)
		}
	})
	if log := s.logged(); !slices.Equal(log, []string{"open CLAIM_DELEG_CUR_FH", "return"}) {
		t.Errorf("the server had %v", log)
	}
	_, err = f.WriteAt([]byte("more"), 0)
	check(t, err)
	check(t, f.Close())
	s.set(func() {
		if string(s.stored) != "more" || len(s.opens) != 0 {
			t.Errorf("%q stored, %d files open", s.stored, len(s.opens))
		}
	})
}

// A recall of another delegation is refused (RFC 8881 §20.2.3).
func TestRecallOfAnotherDelegation(t *testing.T) {
	s := &fake{}
	c := s.delegating(t, nfs42.OpenDelegationTypeRead, Config{})
	check(t, open(t, c, os.O_RDONLY).Close())
	b := callbacks{c}
	args := recallArgs(c)
	args.StateID.Other[3]++
	if got := b.Recall(t.Context(), args); got != nfs42.StatusBadStateid {
		t.Errorf("another state ID: %v", got)
	}
	args.FH = []byte("another")
	if got := b.Recall(t.Context(), args); got != nfs42.StatusBadhandle {
		t.Errorf("another file: %v", got)
	}
	if _, got := b.GetAttr(t.Context(), &nfs42.CBGetAttrArgs{FH: handle, AttrRequest: unchanged()}); got != nfs42.StatusBadhandle {
		t.Errorf("the attributes under a delegation to read: %v", got)
	}
}

// Under a delegation to write, the attributes of the time when it was given are returned.
func TestAttributesUnderADelegation(t *testing.T) {
	s := &fake{}
	c := s.delegating(t, nfs42.OpenDelegationTypeWrite, Config{})
	f := open(t, c, os.O_RDWR)
	_, err := f.WriteAt([]byte("data"), 0)
	check(t, err)
	for _, mask := range []nfs42.Bitmap{unchanged(), nfs42ext.AttributesMask(nfs42.AttrSize, nfs42.AttrMode), {}} {
		attr, status := callbacks{c}.GetAttr(t.Context(), &nfs42.CBGetAttrArgs{FH: handle, AttrRequest: mask})
		got, err := decode(&attr, mask)
		if status != nfs42.StatusOK || err != nil || got.Has(nfs42.AttrMode) || got.Has(nfs42.AttrSize) != (len(mask) > 0) || got.Size != 0 {
			t.Errorf("%x: %v, %v, %+v", mask, status, err, attr)
		}
	}
	check(t, f.Close())
}

// The client holds no more delegations than it may, and returns the ones used least.
func TestDelegationsAreBounded(t *testing.T) {
	s := &fake{}
	c := s.delegating(t, nfs42.OpenDelegationTypeRead, Config{Delegations: 3})
	for i := range 5 {
		f, err := c.Open(t.Context(), strconv.Itoa(i%4)) // 0, 1, 2, 3, and 0 again
		check(t, err)
		check(t, f.Close())
		s.wait(t, "three delegations", func() bool { return len(s.delegs) <= 3 })
	}
	var held []string
	s.set(func() {
		for _, d := range s.delegs {
			held = append(held, d.handle)
		}
	})
	slices.Sort(held)
	if want := []string{"handle of 0", "handle of 2", "handle of 3"}; !slices.Equal(held, want) {
		t.Errorf("held are %q, expected %q", held, want)
	}
	types := nfs42.Bitmap{1 << nfs42.RecallAnyWdataDlg}
	b := callbacks{c}
	if got := b.RecallAny(t.Context(), &nfs42.CBRecallAnyArgs{ObjectsToKeep: 1, TypeMask: types}); got != nfs42.StatusOK {
		t.Error(got)
	}
	c.held.mu.Lock()
	if n := c.held.used.Len(); n != 3 {
		t.Errorf("%d are held after a recall of others, expected 3", n)
	}
	c.held.mu.Unlock()
	types[0] = 1 << nfs42.RecallAnyRdataDlg
	if got := b.RecallAny(t.Context(), &nfs42.CBRecallAnyArgs{ObjectsToKeep: 1, TypeMask: types}); got != nfs42.StatusOK {
		t.Error(got)
	}
	s.wait(t, "one delegation", func() bool { return len(s.delegs) == 1 })
	s.set(func() {
		for _, d := range s.delegs {
			if d.handle != "handle of 0" {
				t.Errorf("kept %q, expected the last one", d.handle)
			}
		}
	})
}

// A client that wants no delegation returns one that it gets.
func TestUnwantedDelegationIsReturned(t *testing.T) {
	s := &fake{}
	c := s.delegating(t, nfs42.OpenDelegationTypeWrite, Config{Delegations: -1})
	s.set(func() {
		s.change = func(res *nfs42.ResOp) {
			if res.Op == nfs42.OpOpen {
				id := s.next()
				s.delegs[id] = &fakeDelegation{handle: "handle of x"}
				res.Open.OK.Delegation = nfs42.OpenDelegation{DelegationType: nfs42.OpenDelegationTypeRead, Read: nfs42.OpenReadDelegation{StateID: id}}
			}
		}
	})
	f := open(t, c, os.O_RDWR)
	s.set(func() {
		for _, o := range s.opens {
			if o.ShareAccess&nfs42.OpenShareAccessWantNoDeleg == 0 {
				t.Errorf("the access is %x", o.ShareAccess)
			}
		}
		if len(s.delegs) != 0 {
			t.Error("the delegation is not returned")
		}
	})
	check(t, f.Close())
}

// After a restart of the server a delegation is reclaimed with a file that is open under it.
func TestDelegationIsReclaimed(t *testing.T) {
	s := &fake{}
	c := s.delegating(t, nfs42.OpenDelegationTypeWrite, Config{})
	check(t, open(t, c, os.O_RDWR).Close())
	f, other := open(t, c, os.O_RDWR), open(t, c, os.O_RDONLY)
	_, err := f.WriteAt([]byte("data"), 0)
	check(t, err)
	s.logged()
	s.restart()
	check(t, f.Sync())
	if log := s.logged(); !slices.Equal(log, []string{"open CLAIM_PREVIOUS", "open CLAIM_PREVIOUS", "complete"}) {
		t.Errorf("the server had %v", log)
	}
	s.set(func() {
		kinds := 0
		for _, o := range s.opens {
			kinds += int(o.Claim.DelegateType)
		}
		if len(s.delegs) != 1 || kinds != int(nfs42.OpenDelegationTypeWrite) {
			t.Errorf("%d delegations, reclaimed with types of the sum %d", len(s.delegs), kinds)
		}
	})
	check(t, open(t, c, os.O_RDWR).Close())
	check(t, errors.Join(f.Close(), other.Close()))
	if log := s.logged(); len(log) > 0 {
		t.Errorf("the server had %v, expected nothing: the delegation is held", log)
	}
	s.restart() // no file is open
	check(t, open(t, c, os.O_RDWR).Close())
	if log := s.logged(); !slices.Equal(log, []string{"complete", "open CLAIM_NULL"}) {
		t.Errorf("the server had %v", log)
	}
}

// A delegation that the server has revoked is freed, and its files are opened at the server.
func TestRevokedDelegationIsReplaced(t *testing.T) {
	for _, told := range []bool{true, false} {
		s := &fake{}
		c := s.delegating(t, nfs42.OpenDelegationTypeWrite, Config{})
		check(t, open(t, c, os.O_RDWR).Close())
		f := open(t, c, os.O_RDWR)
		s.logged()
		s.set(func() {
			for _, d := range s.delegs {
				d.revoked = true
			}
			if told {
				s.change = func(res *nfs42.ResOp) {
					if res.Op == nfs42.OpSequence && len(s.delegs) > 0 {
						res.Sequence.OK.StatusFlags = nfs42.SeqStatusRecallableStateRevoked
					}
				}
			}
		})
		if told {
			_, err := f.Stat() // any COMPOUND
			_ = err
			s.wait(t, "the state ID is free", func() bool { return len(s.delegs) == 0 })
		}
		_, err := f.WriteAt([]byte("data"), 0)
		check(t, err)
		if log := s.logged(); !slices.Equal(log, []string{"open CLAIM_FH", "free"}) {
			t.Errorf("the server had %v", log)
		}
		check(t, f.Close())
	}
}

// Close returns what the client holds.
func TestCloseLeavesNothing(t *testing.T) {
	s := &fake{}
	c := s.delegating(t, nfs42.OpenDelegationTypeRead, Config{})
	for i := range 8 {
		f, err := c.Open(t.Context(), strconv.Itoa(i))
		check(t, err)
		if i%2 == 0 {
			check(t, f.Close())
		}
	}
	s.set(func() { // one is refused
		n := 0
		s.status = func(op *nfs42.ArgOp) nfs42.Status {
			if op.Op == nfs42.OpDelegReturn {
				if n++; n == 2 {
					return nfs42.StatusBadStateid
				}
			}
			return nfs42.StatusOK
		}
	})
	check(t, c.Close())
	s.set(func() {
		if len(s.opens) != 0 || len(s.delegs) > 1 {
			t.Errorf("%d files are open, %d delegations are held", len(s.opens), len(s.delegs))
		}
	})
}

// An open whose caller gives up is closed when the server has answered.
func TestAbandonedOpenIsClosed(t *testing.T) {
	s := &fake{}
	c := s.delegating(t, nfs42.OpenDelegationTypeWrite, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	s.set(func() {
		s.status = func(op *nfs42.ArgOp) nfs42.Status {
			if op.Op == nfs42.OpOpen && ctx.Err() == nil {
				cancel()
				<-gone
			}
			return nfs42.StatusOK
		}
	})
	if _, err := c.OpenFile(ctx, "x", os.O_RDWR|os.O_CREATE, 0o600); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(gone)
	s.wait(t, "nothing is open", func() bool { return len(s.log) > 1 && len(s.opens) == 0 && len(s.delegs) == 0 })
	if _, err := c.OpenFile(ctx, "x", os.O_RDWR, 0o600); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// O_EXCL has the mode of creation that Config names.
func TestModesOfCreation(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		s := &fake{}
		c := s.client(t, Config{Guarded: guarded})
		var how nfs42.CreateMode
		exists := false
		s.set(func() {
			s.status = func(op *nfs42.ArgOp) nfs42.Status {
				if op.Op == nfs42.OpOpen {
					if how = op.Open.OpenHow.How.Mode; exists {
						return nfs42.StatusExist
					}
				}
				return nfs42.StatusOK
			}
		})
		check(t, open(t, c, os.O_RDWR|os.O_CREATE|os.O_EXCL).Close())
		s.set(func() {
			exists = true
			if want := map[bool]nfs42.CreateMode{false: nfs42.CreateModeExclusive41, true: nfs42.CreateModeGuarded}[guarded]; how != want {
				t.Errorf("guarded %t: found %v", guarded, how)
			}
		})
		if _, err := c.OpenFile(t.Context(), "x", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !errors.Is(err, fs.ErrExist) {
			t.Errorf("guarded %t: %v", guarded, err)
		}
	}
}

var _ nfs4.Callbacks = callbacks{}
