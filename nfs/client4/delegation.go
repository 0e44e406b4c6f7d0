package client4

import (
	"bytes"
	"container/list"
	"context"
	"os"
	"sync"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// delegation is a file's delegation to the client (RFC 8881 §10.4). delegations.mu guards the
// fields from id on.
//
//	held ──recall, a further one, a revocation──> leaving ──> over
//	  └──────────────── the server restarts ─────────────────> over
//
// Files are opened under it while it is held. Those that are still open when it leaves are opened
// at the server before it is returned.
type delegation struct {
	name   string // by which the file was opened
	handle nfs42.Handle

	id      nfs42.StateID
	write   bool
	access  uint32              // that the server has allowed
	known   nfs42ext.Attributes // change and size when it was given
	files   map[*File]struct{}  // open only under it
	leaving chan struct{}       // nil, or closed when it is over
	at      *list.Element       // in delegations.used
}

// kind returns the type of a delegation.
func (d *delegation) kind() nfs42ext.OpenDelegationType {
	if d.write {
		return nfs42ext.OpenDelegationTypeWrite
	}
	return nfs42ext.OpenDelegationTypeRead
}

// delegations are those that a client holds.
type delegations struct {
	c *Client

	mu       sync.Mutex
	byHandle map[string]*delegation // also those that are leaving
	byName   map[string]*delegation // the last one of a name
	used     list.List              // of *delegation that are held; the first one was used last
}

func (h *delegations) init() {
	h.byHandle, h.byName = map[string]*delegation{}, map[string]*delegation{}
}

// want returns what OPEN says about delegations.
func (h *delegations) want() uint32 {
	if h.c.cfg.Delegations < 0 {
		return nfs42.OpenShareAccessWantNoDeleg
	}
	return nfs42.OpenShareAccessWantAnyDeleg
}

// unchanged returns the attributes by which the server sees that the client has made no changes.
func unchanged() nfs42.Bitmap { return nfs42ext.AttributesMask(nfs42.AttrChange, nfs42.AttrSize) }

// delegated returns the state ID of a delegation in the results of OPEN, or nil, whether it is to
// write, and whether the server recalls it already.
func delegated(d *nfs42ext.OpenDelegation) (id *nfs42.StateID, write, recalled bool) {
	switch d.DelegationType {
	case nfs42ext.OpenDelegationTypeRead, nfs42ext.OpenDelegationTypeReadAttrsDeleg:
		return &d.Read.StateID, false, d.Read.Recall
	case nfs42ext.OpenDelegationTypeWrite, nfs42ext.OpenDelegationTypeWriteAttrsDeleg:
		return &d.Write.StateID, true, d.Write.Recall
	}
	return nil, false, false
}

// hold takes the delegation in the results of OPEN, if there is one. One that the client cannot
// hold is returned at once.
func (h *delegations) hold(ctx context.Context, do nfs4.Doer, f *File, ok *nfs42ext.OpenResOK, attr *nfs42.Fattr) error {
	id, write, recalled := delegated(&ok.Delegation)
	known, err := decode(attr, unchanged())
	complete := err == nil && known.Has(nfs42.AttrChange) && known.Has(nfs42.AttrSize)
	if id == nil {
		h.allow(f)
		return nil
	}
	if h.c.cfg.Delegations < 0 || !complete || !h.add(f, *id, write, known, h.c.cfg.Delegations) {
		return named("DELEGRETURN", f.name, giveUp(ctx, do, f.handle, *id))
	}
	if recalled {
		h.recall(f.handle)
	}
	for d := h.excess(h.c.cfg.Delegations); d != nil; d = h.excess(h.c.cfg.Delegations) {
		h.c.work(func() { h.giveBack(h.c.ctx, d) })
	}
	return nil
}

// mostLeaving is the largest number of delegations that leave while further ones are taken.
const mostLeaving = 64

// add adds a delegation, or changes the one of the same file. It reports false if the server has
// given a second one for the file, and if there are too many.
func (h *delegations) add(f *File, id nfs42.StateID, write bool, known *nfs42ext.Attributes, limit int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.byHandle[string(f.handle)]
	if d != nil && (d.leaving != nil || d.id.Other != id.Other) {
		return false
	}
	if d == nil && len(h.byHandle) >= limit+mostLeaving {
		return false
	}
	if d == nil {
		d = &delegation{handle: f.handle, name: f.name, files: map[*File]struct{}{}, known: *known}
		d.at = h.used.PushFront(d)
		h.byHandle[string(f.handle)], h.byName[f.name] = d, d
	}
	d.id, d.write, d.access = id, write, d.access|f.access
	return true
}

// allow notes that the server has opened a file, with the rights of that.
func (h *delegations) allow(f *File) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d := h.byHandle[string(f.handle)]; d != nil {
		d.access |= f.access
	}
}

// excess removes the delegation that was not used for the longest time from those that are held,
// if they are more than limit, and returns it.
func (h *delegations) excess(limit int) *delegation {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.used.Len() <= limit {
		return nil
	}
	d := h.used.Back().Value.(*delegation)
	h.used.Remove(d.at)
	return d
}

// openLocally opens a file under a delegation, if there is one and it has the rights. A LOOKUP says
// whether the name still leads to the file.
func (h *delegations) openLocally(f *File, flag int) bool {
	d := h.find(f)
	if d == nil || flag&os.O_EXCL != 0 && flag&os.O_CREATE != 0 {
		return false
	}
	cmp, err := h.c.at(f.ctx, f.name)
	if err != nil {
		return false
	}
	fh := cmp.GetFH()
	if h.c.s.Do(f.ctx, cmp) != nil || !bytes.Equal(fh.OK.Object, d.handle) {
		return false // OPEN has the error
	}
	f.handle = d.handle
	return h.enter(d, f)
}

// find returns the delegation of a name under which a file can be opened, or nil.
func (h *delegations) find(f *File) *delegation {
	h.mu.Lock()
	defer h.mu.Unlock()
	if d := h.byName[f.name]; d != nil && d.allows(f) {
		return d
	}
	return nil
}

// allows reports whether a file can be opened under the delegation. delegations.mu must be held.
func (d *delegation) allows(f *File) bool {
	return d.leaving == nil && f.access&^d.access == 0 && (d.write || f.access&nfs42.OpenShareAccessWrite == 0)
}

// enter opens a file under a delegation.
func (h *delegations) enter(d *delegation, f *File) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byHandle[string(d.handle)] != d || !d.allows(f) {
		return false
	}
	d.files[f], f.local = struct{}{}, d
	f.setStateID(d.id)
	h.used.MoveToFront(d.at)
	return true
}

// leave closes a file that is open only under a delegation, and reports whether it was. While the
// delegation is returned it waits until the file is open at the server.
func (h *delegations) leave(ctx context.Context, f *File) bool {
	h.mu.Lock()
	d := f.local
	if d == nil || d.leaving == nil {
		if d != nil {
			delete(d.files, f)
			f.local = nil
		}
		h.mu.Unlock()
		return d != nil
	}
	over := d.leaving
	h.mu.Unlock()
	select {
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// begin lets a delegation leave, and returns the files that are open only under it. first is false
// if it leaves already, or is over.
func (h *delegations) begin(d *delegation) (files []*File, first bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byHandle[string(d.handle)] != d || d.leaving != nil {
		return nil, false
	}
	d.leaving = make(chan struct{})
	h.used.Remove(d.at)
	for f := range d.files {
		files = append(files, f)
	}
	return files, true
}

// end says that a delegation is over.
func (h *delegations) end(d *delegation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byHandle[string(d.handle)] == d {
		delete(h.byHandle, string(d.handle))
	}
	if h.byName[d.name] == d {
		delete(h.byName, d.name)
	}
	for f := range d.files {
		f.local = nil
	}
	close(d.leaving)
}

// forget removes all delegations, whose state the server has lost, and returns those that were held
// by their handles. Their files are to be opened at the server.
func (h *delegations) forget() map[string]*delegation {
	h.mu.Lock()
	defer h.mu.Unlock()
	former := map[string]*delegation{}
	for handle, d := range h.byHandle {
		for f := range d.files {
			f.local = nil
		}
		if d.leaving == nil {
			former[handle] = d
		}
	}
	h.init()
	h.used.Init()
	return former
}
