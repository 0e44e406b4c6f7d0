package client4

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/internal/filedata"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// File is an open file. Its methods are safe for concurrent use; those that write run one at a
// time. Their calls use the context that the File was opened with.
type File struct {
	c      *Client
	ctx    context.Context
	name   string
	handle nfs42.Handle
	owner  nfs42.OpenOwner
	access uint32
	data   *filedata.File

	idMu sync.Mutex
	id   nfs42.StateID
}

// Open opens a file for reading.
func (c *Client) Open(ctx context.Context, name string) (*File, error) {
	return c.OpenFile(ctx, name, os.O_RDONLY, 0)
}

// Create makes a file, or opens one and removes its data.
func (c *Client) Create(ctx context.Context, name string, perm fs.FileMode) (*File, error) {
	return c.OpenFile(ctx, name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, perm)
}

// OpenFile opens a file with the flags of os.OpenFile; O_APPEND and O_SYNC have no effect. With
// O_EXCL the server makes the file once, also if the call is made twice (EXCLUSIVE4_1). ctx applies
// to all calls of the File.
func (c *Client) OpenFile(ctx context.Context, name string, flag int, perm fs.FileMode) (*File, error) {
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
	cmp, last, err := c.in(ctx, name)
	if err != nil {
		return nil, c.do(ctx, "OPEN", name, cmp, err)
	}
	args, err := f.args(flag, perm)
	if err != nil {
		return nil, err
	}
	args.Claim = nfs42ext.OpenClaim{Claim: nfs42.OpenClaimTypeNull, File: nfs42.Component(last)}
	res, fh := cmp.Open(args), cmp.GetFH()
	if err := c.do(ctx, "OPEN", name, cmp, nil); err != nil {
		return nil, err
	}
	f.id, f.handle = res.OK.StateID, fh.OK.Object
	c.opened(f)
	err = f.settle(flag, perm, res.OK)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// args returns the arguments of OPEN but for its claim.
func (f *File) args(flag int, perm fs.FileMode) (*nfs42ext.OpenArgs, error) {
	args := &nfs42ext.OpenArgs{ShareAccess: f.access | nfs42.OpenShareAccessWantNoDeleg, Owner: f.owner}
	if flag&os.O_CREATE == 0 {
		return args, nil
	}
	args.OpenHow.OpenType = nfs42.OpenTypeCreate
	how := &args.OpenHow.How
	if flag&os.O_EXCL != 0 {
		how.Mode = nfs42.CreateModeExclusive41
		_, _ = rand.Read(how.CreateBoth.Verf[:]) // never fails
		return args, SetMode(perm).Encode(&how.CreateBoth.Attrs)
	}
	// CREATE never sets a size: a call that a lost connection delays must not empty the file.
	how.Mode = nfs42.CreateModeUnchecked
	return args, SetMode(perm).Encode(&how.CreateAttrs)
}

// settle does the rest of an open: it returns a delegation, sets the mode of a new file if the
// server did not, and removes the data.
func (f *File) settle(flag int, perm fs.FileMode, ok *nfs42ext.OpenResOK) error {
	var given *nfs42.StateID
	switch d := &ok.Delegation; d.DelegationType {
	case nfs42ext.OpenDelegationTypeRead, nfs42ext.OpenDelegationTypeReadAttrsDeleg:
		given = &d.Read.StateID
	case nfs42ext.OpenDelegationTypeWrite, nfs42ext.OpenDelegationTypeWriteAttrsDeleg:
		given = &d.Write.StateID
	}
	if given != nil {
		var cmp nfs4.Compound
		cmp.PutFH(f.handle)
		cmp.DelegReturn(*given)
		if err := f.c.do(f.ctx, "DELEGRETURN", f.name, &cmp, nil); err != nil {
			return err
		}
	}
	set := nfs42ext.Attributes{}
	if flag&os.O_TRUNC != 0 {
		set = *SetSize(0)
	}
	if made := (nfs42ext.Attributes{Mask: ok.AttrSet}); flag&os.O_EXCL != 0 && flag&os.O_CREATE != 0 && !made.Has(nfs42.AttrMode) {
		set = *SetMode(perm) // a new file has no data to remove
	}
	if len(set.Mask) == 0 {
		return nil
	}
	return f.setAttr(&set)
}

// stateID returns the present state ID. The sequence ID 0 stands for the newest one (RFC 8881
// §8.2.2).
func (f *File) stateID() nfs42.StateID {
	f.idMu.Lock()
	defer f.idMu.Unlock()
	return nfs42.StateID{Other: f.id.Other}
}

// reclaims is the number of times that a call is made again with a state ID that was reclaimed.
const reclaims = 8

// with makes COMPOUNDs of the file with its state ID, and again if that was reclaimed in between.
func (f *File) with(ctx context.Context, op string, add func(cmp *nfs4.Compound, id nfs42.StateID)) error {
	return f.withReused(ctx, op, new(nfs4.Compound), add)
}

// withReused is with and the memory of a COMPOUND.
func (f *File) withReused(ctx context.Context, op string, cmp *nfs4.Compound, add func(cmp *nfs4.Compound, id nfs42.StateID)) error {
	for try := 0; ; try++ {
		id := f.stateID()
		cmp.Reset()
		cmp.PutFH(f.handle)
		add(cmp, id)
		err := f.c.do(ctx, op, f.name, cmp, nil)
		if err == nil || !stale(err) || f.stateID() == id || try == reclaims {
			return err
		}
	}
}

// stale reports whether the server does not know a state ID.
func stale(err error) bool {
	for _, s := range []nfs42ext.Status{nfs42ext.StatusBadStateid, nfs42ext.StatusStaleStateid, nfs42ext.StatusExpired, nfs42ext.StatusOldStateid} {
		if nfs4.Refused(err, s) {
			return true
		}
	}
	return false
}

// reclaim opens the file again after a loss of state: by CLAIM_PREVIOUS in the grace period, and by
// CLAIM_FH later. A refusal is not an error: the next call of the file has it.
func (f *File) reclaim(ctx context.Context, do nfs4.Doer, claim nfs42.OpenClaimType) error {
	args := &nfs42ext.OpenArgs{ShareAccess: f.access, Owner: f.owner, Claim: nfs42ext.OpenClaim{Claim: claim}}
	if claim == nfs42.OpenClaimTypeFH {
		args.ShareAccess |= nfs42.OpenShareAccessWantNoDeleg
	}
	var cmp nfs4.Compound
	cmp.PutFH(f.handle)
	res := cmp.Open(args)
	err := do.Do(ctx, &cmp)
	if nfs4.Refused(err, nfs42ext.StatusNoGrace) || nfs4.Refused(err, nfs42ext.StatusReclaimBad) {
		f.c.mu.Lock()
		f.c.lost = append(f.c.lost, f)
		f.c.mu.Unlock()
		return nil
	}
	if refused := (*nfs4.StatusError)(nil); errors.As(err, &refused) && refused.Index >= 0 && ctx.Err() == nil {
		return nil // the refusal is of the file, not of the session
	}
	if err != nil {
		return err
	}
	f.idMu.Lock()
	f.id = res.OK.StateID
	f.idMu.Unlock()
	return nil
}

// Name returns the name that the File was opened by.
func (f *File) Name() string { return f.name }

// Stat describes the file.
func (f *File) Stat() (fs.FileInfo, error) {
	var cmp nfs4.Compound
	cmp.PutFH(f.handle)
	attr := cmp.GetAttr(described())
	if err := f.c.do(f.ctx, "GETATTR", f.name, &cmp, nil); err != nil {
		return nil, err
	}
	info, err := describe(base(f.name), &attr.OK.ObjAttributes)
	if err != nil {
		return nil, err
	}
	return info, nil
}

// SetAttr changes attributes of the file. With a size it stores the written data before.
func (f *File) SetAttr(attr *nfs42ext.Attributes) error {
	if attr.Has(nfs42.AttrSize) { // data that are written again must not come after it
		return f.data.After(func() error { return f.setAttr(attr) })
	}
	return f.setAttr(attr)
}

func (f *File) setAttr(attr *nfs42ext.Attributes) error {
	var args nfs42.SetAttrArgs
	if err := attr.Encode(&args.ObjAttributes); err != nil {
		return err
	}
	return f.with(f.ctx, "SETATTR", func(cmp *nfs4.Compound, id nfs42.StateID) {
		args.StateID = id
		cmp.SetAttr(&args)
	})
}

// Truncate sets the size of the file.
func (f *File) Truncate(size int64) error {
	if err := f.data.InRange("SETATTR", size, 0); err != nil {
		return err
	}
	return f.SetAttr(SetSize(size))
}

// Close stores the written data, and closes the file at the server.
func (f *File) Close() error {
	err := f.Sync()
	ended := f.with(f.ctx, "CLOSE", func(cmp *nfs4.Compound, id nfs42.StateID) { cmp.Close(id) })
	f.c.closed(f)
	return errors.Join(err, ended)
}
