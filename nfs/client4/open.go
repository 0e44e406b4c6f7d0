package client4

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/internal/filedata"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// Open opens a file for reading.
func (c *Client) Open(ctx context.Context, name string) (*File, error) {
	return c.OpenFile(ctx, name, os.O_RDONLY, 0)
}

// Create makes a file, or opens one and removes its data.
func (c *Client) Create(ctx context.Context, name string, perm fs.FileMode) (*File, error) {
	return c.OpenFile(ctx, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, perm)
}

// OpenFile opens a file with the flags of os.OpenFile; O_APPEND and O_SYNC have no effect. With
// O_EXCL the server makes the file once, also if the call is made twice: see Config.Guarded. ctx
// applies to all calls of the File. If it is done before OPEN is answered, OpenFile returns at
// once, and the Client closes the file when the answer comes.
func (c *Client) OpenFile(ctx context.Context, name string, flag int, perm fs.FileMode) (*File, error) {
	f := c.newFile(ctx, name, flag)
	if c.held.openLocally(f, flag) {
		c.opened(f)
		return f.orClosed(f.settle(flag, perm, nil))
	}
	cmp, last, err := c.in(ctx, name)
	if err != nil {
		return nil, c.do(ctx, "OPEN", name, cmp, err)
	}
	args, err := f.args(flag, perm)
	if err != nil {
		return nil, err
	}
	args.Claim = nfs42ext.OpenClaim{Claim: nfs42.OpenClaimTypeNull, File: nfs42.Component(last)}
	cmp.Repeatable = args.OpenHow.How.Mode != nfs42.CreateModeGuarded // the same owner has one open
	res, fh, attr := cmp.Open(args), cmp.GetFH(), cmp.GetAttr(unchanged())
	answered := func() { f.id, f.handle = res.OK.StateID, fh.OK.Object }
	if err := c.doOrAbandon(ctx, cmp, func() { answered(); c.abandon(f, res.OK) }); err != nil {
		return nil, named("OPEN", name, err)
	}
	answered()
	c.opened(f)
	err = c.held.hold(ctx, c.s, f, res.OK, &attr.OK.ObjAttributes)
	return f.orClosed(errors.Join(err, f.settle(flag, perm, res.OK)))
}

// newFile returns a File that is not open yet.
func (c *Client) newFile(ctx context.Context, name string, flag int) *File {
	f := &File{c: c, ctx: ctx, name: name, owner: c.owner()}
	size, depth := c.sizes()
	f.data = filedata.New(filedata.Config{
		Ctx: ctx, Name: name, Calls: calls{f}, ReadSize: size, WriteSize: size, Depth: depth, Window: c.cfg.Window, NoCommit: &c.noCommit,
	})
	switch flag & (os.O_RDONLY | os.O_WRONLY | os.O_RDWR) {
	case os.O_WRONLY:
		f.access = nfs42.OpenShareAccessWrite
	case os.O_RDWR:
		f.access = nfs42.OpenShareAccessBoth
	default:
		f.access = nfs42.OpenShareAccessRead
	}
	return f
}

// orClosed returns the File, or closes it if there is an error.
func (f *File) orClosed(err error) (*File, error) {
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// doOrAbandon makes a COMPOUND. If ctx is done before its answer comes, it returns the cause, and
// late runs when the server has done all of the COMPOUND.
func (c *Client) doOrAbandon(ctx context.Context, cmp *nfs4.Compound, late func()) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	over := make(chan error, 1)
	c.s.Submit(context.WithoutCancel(ctx), cmp, func(err error) { over <- err })
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
	}
	c.work(func() {
		if err := <-over; err == nil {
			late()
		}
	})
	return context.Cause(ctx)
}

// abandon closes a file whose caller has given up, and returns its delegation.
func (c *Client) abandon(f *File, ok *nfs42ext.OpenResOK) {
	var cmp nfs4.Compound
	cmp.PutFH(f.handle)
	cmp.Close(f.stateID())
	_ = c.s.Do(c.ctx, &cmp) // it has no caller; the lease ends what remains
	if given, _, _ := delegated(&ok.Delegation); given != nil {
		_ = giveUp(c.ctx, c.s, f.handle, *given)
	}
}

// args returns the arguments of OPEN but for its claim.
func (f *File) args(flag int, perm fs.FileMode) (*nfs42ext.OpenArgs, error) {
	args := &nfs42ext.OpenArgs{ShareAccess: f.access | f.c.held.want(), Owner: f.owner}
	if flag&os.O_CREATE == 0 {
		return args, nil
	}
	args.OpenHow.OpenType = nfs42.OpenTypeCreate
	how := &args.OpenHow.How
	if flag&os.O_EXCL != 0 && !f.c.cfg.Guarded {
		how.Mode = nfs42.CreateModeExclusive41
		_, _ = rand.Read(how.CreateBoth.Verf[:]) // never fails
		return args, SetMode(perm).Encode(&how.CreateBoth.Attrs)
	}
	// CREATE never sets a size: a call that a lost connection delays must not empty the file.
	if how.Mode = nfs42.CreateModeUnchecked; flag&os.O_EXCL != 0 {
		how.Mode = nfs42.CreateModeGuarded
	}
	return args, SetMode(perm).Encode(&how.CreateAttrs)
}

// settle does the rest of an open: it sets the mode of a new file if the server did not, and
// removes the data. ok is nil if the file is open only under a delegation.
func (f *File) settle(flag int, perm fs.FileMode, ok *nfs42ext.OpenResOK) error {
	set := nfs42ext.Attributes{}
	if flag&os.O_TRUNC != 0 {
		set = *SetSize(0)
	}
	if flag&os.O_EXCL != 0 && flag&os.O_CREATE != 0 {
		if made := (nfs42ext.Attributes{Mask: ok.AttrSet}); !made.Has(nfs42.AttrMode) {
			set = *SetMode(perm) // a new file has no data to remove
		}
	}
	if len(set.Mask) == 0 {
		return nil
	}
	return f.setAttr(&set)
}

// reclaim opens all files again after the server has lost the client's state (RFC 8881 §8.4.2.1).
// A file that the server refuses keeps its old state ID, and its calls fail. A delegation is
// reclaimed with the first of its files; without one it is forgotten.
func (c *Client) reclaim(ctx context.Context, do nfs4.Doer) error {
	c.mu.Lock()
	files := slices.Collect(maps.Keys(c.open))
	c.lost = nil
	c.mu.Unlock()
	former := c.held.forget()
	for _, f := range files {
		args := &nfs42ext.OpenArgs{ShareAccess: f.access, Owner: f.owner, Claim: nfs42ext.OpenClaim{Claim: nfs42.OpenClaimTypePrevious}}
		if d := former[string(f.handle)]; d != nil {
			args.Claim.DelegateType = d.kind()
			delete(former, string(f.handle))
		}
		if err := f.reclaim(ctx, do, args); err != nil {
			return err
		}
	}
	return nil
}

// reopen opens the files that were not reclaimed, because the server has no grace period: the lease
// has expired, or this client came back too late. RECLAIM_COMPLETE was made before (RFC 8881
// §18.51.3).
func (c *Client) reopen(ctx context.Context, do nfs4.Doer) error {
	c.mu.Lock()
	lost := c.lost
	c.mu.Unlock()
	for _, f := range lost {
		if err := f.reclaim(ctx, do, f.byHandle()); err != nil {
			return err
		}
	}
	return nil
}

// reclaim opens the file again after a loss of state: by CLAIM_PREVIOUS in the grace period, and by
// CLAIM_FH later. A refusal is not an error: the next call of the file has it.
func (f *File) reclaim(ctx context.Context, do nfs4.Doer, args *nfs42ext.OpenArgs) error {
	err := f.openAs(ctx, do, args)
	if nfs4.Refused(err, nfs42ext.StatusNoGrace) || nfs4.Refused(err, nfs42ext.StatusReclaimBad) {
		f.c.mu.Lock()
		f.c.lost = append(f.c.lost, f)
		f.c.mu.Unlock()
		return nil
	}
	if refused := (*nfs4.StatusError)(nil); errors.As(err, &refused) && refused.Index >= 0 && ctx.Err() == nil {
		return nil // the refusal is of the file, not of the session
	}
	return err
}

// byHandle returns the arguments that open the file by its handle, without a delegation.
func (f *File) byHandle() *nfs42ext.OpenArgs {
	return &nfs42ext.OpenArgs{
		ShareAccess: f.access | nfs42.OpenShareAccessWantNoDeleg, Owner: f.owner, Claim: nfs42ext.OpenClaim{Claim: nfs42.OpenClaimTypeFH},
	}
}

// openAs opens the file at the server by its handle.
func (f *File) openAs(ctx context.Context, do nfs4.Doer, args *nfs42ext.OpenArgs) error {
	var cmp nfs4.Compound
	cmp.Repeatable = true // the same owner has one open
	cmp.PutFH(f.handle)
	res, attr := cmp.Open(args), cmp.GetAttr(unchanged())
	if err := do.Do(ctx, &cmp); err != nil {
		return err
	}
	f.setStateID(res.OK.StateID)
	return f.c.held.hold(ctx, do, f, res.OK, &attr.OK.ObjAttributes)
}
