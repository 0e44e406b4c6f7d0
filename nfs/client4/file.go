package client4

import (
	"context"
	"errors"
	"io/fs"
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
	id   nfs42.StateID // of the open, or of local

	local *delegation // under which it is open, and not at the server; delegations.mu guards it
}

// stateID returns the present state ID. The sequence ID 0 stands for the newest one (RFC 8881
// §8.2.2).
func (f *File) stateID() nfs42.StateID {
	f.idMu.Lock()
	defer f.idMu.Unlock()
	return nfs42.StateID{Other: f.id.Other}
}

// setStateID sets the state ID.
func (f *File) setStateID(id nfs42.StateID) {
	f.idMu.Lock()
	defer f.idMu.Unlock()
	f.id = id
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
		if err == nil || !stale(err) || try == reclaims {
			return err
		}
		if f.stateID() == id && !f.c.held.replaced(ctx, f, err) {
			return err
		}
	}
}

// stale reports whether the server does not know a state ID.
func stale(err error) bool {
	refused := (*nfs4.StatusError)(nil)
	return errors.As(err, &refused) && (refused.Status == nfs42ext.StatusBadStateid || refused.Status == nfs42ext.StatusStaleStateid ||
		refused.Status == nfs42ext.StatusOldStateid || revoked(nfs42.Status(refused.Status)))
}

// revoked reports whether the server keeps a state ID that it has revoked until FREE_STATEID.
func revoked(status nfs42.Status) bool {
	return status == nfs42.StatusExpired || status == nfs42.StatusAdminRevoked || status == nfs42.StatusDelegRevoked
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

// Close stores the written data, and closes the file at the server, unless it is open only under a
// delegation.
func (f *File) Close() error {
	err := f.Sync()
	if f.c.held.leave(f.ctx, f) {
		f.c.closed(f)
		return err
	}
	ended := f.with(f.ctx, "CLOSE", func(cmp *nfs4.Compound, id nfs42.StateID) { cmp.Close(id) })
	f.c.closed(f)
	return errors.Join(err, ended)
}
