package client4

import (
	"context"
	"errors"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// callbacks answers the server's callbacks about delegations. It implements nfs4.Callbacks.
type callbacks struct{ c *Client }

// Recall begins to return a delegation (RFC 8881 §20.2).
func (b callbacks) Recall(_ context.Context, args *nfs42.CBRecallArgs) nfs42.Status {
	d, id := b.c.held.of(args.FH)
	switch {
	case d == nil:
		return nfs42.StatusBadhandle
	case id.Other != args.StateID.Other:
		return nfs42.StatusBadStateid
	}
	b.c.held.recall(args.FH)
	return nfs42.StatusOK
}

// GetAttr returns the attributes of a file as they were when the delegation to write was given: the
// client keeps no data that the server lacks (RFC 8881 §20.1).
func (b callbacks) GetAttr(_ context.Context, args *nfs42.CBGetAttrArgs) (out nfs42.Fattr, _ nfs42.Status) {
	d, write := b.c.held.toWrite(args.FH)
	if !write {
		return out, nfs42.StatusBadhandle
	}
	known := d.known
	known.Mask = unchanged()
	for i := range known.Mask {
		if i >= len(args.AttrRequest) {
			known.Mask[i] = 0
		} else {
			known.Mask[i] &= args.AttrRequest[i]
		}
	}
	if known.Encode(&out) != nil {
		return nfs42.Fattr{}, nfs42.StatusServerfault
	}
	return out, nfs42.StatusOK
}

// RecallAny returns the delegations that were not used for the longest time (RFC 8881 §20.6).
func (b callbacks) RecallAny(_ context.Context, args *nfs42.CBRecallAnyArgs) nfs42.Status {
	var mask uint32
	if len(args.TypeMask) > 0 {
		mask = args.TypeMask[0]
	}
	for _, d := range b.c.held.beyond(args.ObjectsToKeep, mask&(1<<nfs42.RecallAnyRdataDlg) != 0, mask&(1<<nfs42.RecallAnyWdataDlg) != 0) {
		b.c.work(func() { b.c.held.giveBack(b.c.ctx, d) })
	}
	return nfs42.StatusOK
}

// of returns a file's delegation with its state ID, or nil.
func (h *delegations) of(handle nfs42.Handle) (*delegation, nfs42.StateID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.byHandle[string(handle)]
	if d == nil {
		return nil, nfs42.StateID{}
	}
	return d, d.id
}

// toWrite returns a file's delegation, and whether it is one to write.
func (h *delegations) toWrite(handle nfs42.Handle) (d *delegation, write bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d = h.byHandle[string(handle)]
	return d, d != nil && d.write
}

// beyond returns delegations that are held beyond a number, of the types that the server names.
func (h *delegations) beyond(keep uint32, read, write bool) (out []*delegation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for e := h.used.Back(); e != nil && uint64(h.used.Len()-len(out)) > uint64(keep); e = e.Prev() {
		if d := e.Value.(*delegation); d.write && write || !d.write && read {
			out = append(out, d)
		}
	}
	return out
}

// recall returns the delegation of a file, on a goroutine.
func (h *delegations) recall(handle nfs42.Handle) {
	if d, _ := h.of(handle); d != nil {
		h.c.work(func() { h.giveBack(h.c.ctx, d) })
	}
}

// giveBack returns a delegation (RFC 8881 §10.4.4). Before that it stores the data of files that
// are open only under it, and opens them at the server. The next call of a file finds a failure:
// the data are kept, and the server does not know the state ID.
func (h *delegations) giveBack(ctx context.Context, d *delegation) {
	files, first := h.begin(d)
	if !first {
		return
	}
	defer h.end(d)
	for _, f := range files {
		if d.write {
			_ = f.Sync()
		}
		_ = f.openAs(ctx, h.c.s, &nfs42ext.OpenArgs{
			ShareAccess: f.access | nfs42.OpenShareAccessWantNoDeleg, Owner: f.owner,
			Claim: nfs42ext.OpenClaim{Claim: nfs42.OpenClaimTypeDelegCurFH, DelegateStateID: d.id},
		})
	}
	_ = giveUp(ctx, h.c.s, d.handle, d.id)
}

// giveUp makes DELEGRETURN. A delegation that the server does not know is not an error.
func giveUp(ctx context.Context, do nfs4.Doer, handle nfs42.Handle, id nfs42.StateID) error {
	var cmp nfs4.Compound
	cmp.Repeatable = true
	cmp.PutFH(handle)
	cmp.DelegReturn(nfs42.StateID{Other: id.Other})
	if err := do.Do(ctx, &cmp); err != nil && !stale(err) {
		return err
	}
	return nil
}

// test asks the server which delegations it has revoked, and gives those up (RFC 8881 §18.48).
func (h *delegations) test(ctx context.Context) {
	list, ids := h.all()
	const most = 500 // of one TEST_STATEID
	for len(list) > 0 {
		n := min(len(list), most)
		var cmp nfs4.Compound
		res := cmp.TestStateID(ids[:n])
		if h.c.s.Do(ctx, &cmp) != nil {
			return
		}
		for i, status := range res.OK.StatusCodes {
			if i < n && status != nfs42.StatusOK {
				h.replace(ctx, list[i], status)
			}
		}
		list, ids = list[n:], ids[n:]
	}
}

// all returns the delegations that are not leaving, and their state IDs.
func (h *delegations) all() (list []*delegation, ids []nfs42.StateID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.byHandle {
		if d.leaving == nil {
			list, ids = append(list, d), append(ids, d.id)
		}
	}
	return list, ids
}

// replace gives up a delegation that the server has revoked, and opens its files at the server. A
// state ID that the server keeps for that is freed (RFC 8881 §10.2.1, §18.38).
func (h *delegations) replace(ctx context.Context, d *delegation, status nfs42.Status) {
	files, first := h.begin(d)
	if !first {
		return
	}
	defer h.end(d)
	for _, f := range files {
		_ = f.openAs(ctx, h.c.s, f.byHandle()) // the next call of the file has the error
	}
	if revoked(status) {
		var cmp nfs4.Compound
		cmp.Repeatable = true
		cmp.FreeStateID(nfs42.StateID{Other: d.id.Other})
		_ = h.c.s.Do(ctx, &cmp)
	}
}

// replaced replaces the delegation of a file, whose state ID the server has refused, and reports
// whether the file has another state ID.
func (h *delegations) replaced(ctx context.Context, f *File, err error) bool {
	h.mu.Lock()
	d := f.local
	h.mu.Unlock()
	refused := (*nfs4.StatusError)(nil)
	if d == nil || !errors.As(err, &refused) {
		return false
	}
	before := f.stateID()
	if h.replace(ctx, d, nfs42.Status(refused.Status)); f.stateID() == before {
		h.leave(ctx, f) // another goroutine replaces it
	}
	return f.stateID() != before
}

// leave closes files and returns delegations, many by one COMPOUND.
func (h *delegations) returnAll(ctx context.Context, files []*File) {
	type state struct {
		handle nfs42.Handle
		id     nfs42.StateID
		open   bool
	}
	var all []state
	h.mu.Lock()
	for _, f := range files {
		if f.local == nil {
			all = append(all, state{f.handle, f.stateID(), true})
		}
	}
	for _, d := range h.byHandle {
		all = append(all, state{d.handle, nfs42.StateID{Other: d.id.Other}, false})
	}
	h.mu.Unlock()
	const each = 3 // that fit into the shortest COMPOUND of a session
	for len(all) > 0 {
		var cmp nfs4.Compound
		cmp.Repeatable = true
		n := min(len(all), each)
		for _, s := range all[:n] {
			cmp.PutFH(s.handle)
			if s.open {
				cmp.Close(s.id)
			} else {
				cmp.DelegReturn(s.id)
			}
		}
		err := h.c.s.Do(ctx, &cmp)
		if refused := (*nfs4.StatusError)(nil); err != nil && (!errors.As(err, &refused) || refused.Index < 0) {
			return // the lease ends what remains
		}
		if err != nil {
			n = cmp.Succeeded()/2 + 1 // without the one that was refused
		}
		all = all[n:]
	}
}
