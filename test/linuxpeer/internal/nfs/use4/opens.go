package use4

import (
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// opened is an open file of a session.
type opened struct {
	name   string
	handle nfs42.Handle
	id     nfs42.StateID
	deleg  *nfs42.StateID // or nil
	writes bool           // deleg is a delegation to write
}

// open opens a file that exists. access has the flags of OPEN's share_access.
func open(ctx context.Context, do nfs4.Doer, dir nfs42.Handle, name string, access uint32) (*opened, error) {
	var c nfs4.Compound
	c.PutFH(dir)
	res := c.Open(&nfs42ext.OpenArgs{
		ShareAccess: access, Owner: nfs42.OpenOwner{Owner: []byte(name)},
		Claim: nfs42ext.OpenClaim{Claim: nfs42.OpenClaimTypeNull, File: nfs42.Component(name)},
	})
	fh := c.GetFH()
	if err := do.Do(ctx, &c); err != nil {
		return nil, fmt.Errorf("OPEN %s: %w", name, err)
	}
	f := &opened{name: name, handle: fh.OK.Object, id: res.OK.StateID}
	switch d := &res.OK.Delegation; d.DelegationType {
	case nfs42ext.OpenDelegationTypeRead:
		f.deleg = &d.Read.StateID
	case nfs42ext.OpenDelegationTypeWrite:
		f.deleg, f.writes = &d.Write.StateID, true
	}
	return f, nil
}

// close closes the file, and returns its delegation.
func (f *opened) close(ctx context.Context, do nfs4.Doer) error {
	var c nfs4.Compound
	c.PutFH(f.handle)
	c.Close(f.id)
	if f.deleg != nil {
		c.DelegReturn(*f.deleg)
	}
	if err := do.Do(ctx, &c); err != nil {
		return fmt.Errorf("CLOSE %s: %w", f.name, err)
	}
	return nil
}

// delegated opens a file until the server gives a delegation: it gives none before it has tried the
// backchannel.
func delegated(ctx context.Context, s *nfs4.Session, dir nfs42.Handle, name string, access uint32) (*opened, error) {
	for {
		f, err := open(ctx, s, dir, name, access)
		if err != nil || f.deleg != nil {
			return f, err
		}
		if err := f.close(ctx, s); err != nil {
			return nil, err
		}
		if err := pause(ctx, 20); err != nil {
			return nil, fmt.Errorf("no delegation for %s: %w", name, err)
		}
	}
}

// guarded makes a file that must not exist, and opens it to read and write.
func guarded(c *nfs4.Compound, dir nfs42.Handle, name string) *nfs42ext.OpenRes {
	c.PutFH(dir)
	return c.Open(&nfs42ext.OpenArgs{
		ShareAccess: nfs42.OpenShareAccessBoth | nfs42.OpenShareAccessWantNoDeleg, Owner: nfs42.OpenOwner{Owner: []byte(name)},
		OpenHow: nfs42.OpenFlag{OpenType: nfs42.OpenTypeCreate, How: nfs42.CreateHow{
			Mode: nfs42.CreateModeGuarded, CreateAttrs: nfs42.Fattr{AttrMask: nfs42.Bitmap{0, 1 << (nfs42.AttrMode - 32)}, AttrVals: []byte{0, 0, 1, 0o200}},
		}},
		Claim: nfs42ext.OpenClaim{Claim: nfs42.OpenClaimTypeNull, File: nfs42.Component(name)},
	})
}

// read reads bytes of an open file, and compares them.
func (f *opened) read(ctx context.Context, do nfs4.Doer, at int, want []byte) error {
	var c nfs4.Compound
	c.Results = [][]byte{make([]byte, len(want))}
	c.PutFH(f.handle)
	res := c.Read(&nfs42.ReadArgs{StateID: f.id, Offset: nfs42.Offset(at), Count: nfs42.Count(len(want))})
	switch err := do.Do(ctx, &c); {
	case err != nil:
		return fmt.Errorf("READ %s: %w", f.name, err)
	case string(res.OK.Data) != string(want):
		return errors.New("READ " + f.name + ": other bytes")
	}
	return nil
}
