package nfs4

import (
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42ext"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42xattr"
)

// The operations that clients use most. Arguments that are pointers belong to the Compound until Do
// returns. The comment of each type in package nfs42 has its section's words.

// Size limits of results, in bytes.
const (
	attrRoom   = 4 << 10  // attributes, without access control lists and labels
	aclRoom    = 64 << 10 // those
	handleRoom = 4 + 128
	linkRoom   = 4 << 10
	openRoom   = 4 << 10 // with a delegation, whose entry of an access control list names a user
)

// attrBytes is the size limit of the attributes that a bitmap asks for.
func attrBytes(mask nfs42.Bitmap) int {
	for _, attr := range []int{nfs42.AttrACL, nfs42.AttrDACL, nfs42.AttrSACL, nfs42.AttrSecLabel, nfs42.AttrFSLocations, nfs42.AttrFSLocationsInfo} {
		if word := attr / 32; word < len(mask) && mask[word]&(1<<(attr%32)) != 0 {
			return aclRoom
		}
	}
	return attrRoom
}

// PutFH sets the current handle.
func (c *Compound) PutFH(fh nfs42.Handle) *nfs42.PutFHRes {
	return add[nfs42.PutFHRes](c, nfs42ext.OpPutFH, nfs42.PutFHArgs{Object: fh}, 0)
}

// PutRootFH makes the root of the server's names the current handle.
func (c *Compound) PutRootFH() *nfs42.PutRootFHRes {
	return Add[nfs42.PutRootFHRes](c, nfs42ext.OpPutRootFH, nil, 0)
}

// GetFH returns the current handle.
func (c *Compound) GetFH() *nfs42.GetFHRes {
	return Add[nfs42.GetFHRes](c, nfs42ext.OpGetFH, nil, handleRoom)
}

// SaveFH saves the current handle.
func (c *Compound) SaveFH() *nfs42.SaveFHRes {
	return Add[nfs42.SaveFHRes](c, nfs42ext.OpSaveFH, nil, 0)
}

// RestoreFH makes the saved handle current.
func (c *Compound) RestoreFH() *nfs42.RestoreFHRes {
	return Add[nfs42.RestoreFHRes](c, nfs42ext.OpRestoreFH, nil, 0)
}

// Lookup makes an entry of the current directory the current handle.
func (c *Compound) Lookup(name string) *nfs42.LookupRes {
	return add[nfs42.LookupRes](c, nfs42ext.OpLookup, nfs42.LookupArgs{ObjName: nfs42.Component(name)}, 0)
}

// LookupP makes the parent of the current directory the current handle.
func (c *Compound) LookupP() *nfs42.LookupPRes {
	return Add[nfs42.LookupPRes](c, nfs42ext.OpLookupP, nil, 0)
}

// Access asks for the rights of the caller.
func (c *Compound) Access(rights uint32) *nfs42.AccessRes {
	return add[nfs42.AccessRes](c, nfs42ext.OpAccess, nfs42.AccessArgs{Access: rights}, 8)
}

// GetAttr reads attributes.
func (c *Compound) GetAttr(mask nfs42.Bitmap) *nfs42.GetAttrRes {
	return add[nfs42.GetAttrRes](c, nfs42ext.OpGetAttr, nfs42.GetAttrArgs{AttrRequest: mask}, attrBytes(mask))
}

// SetAttr changes attributes.
func (c *Compound) SetAttr(args *nfs42.SetAttrArgs) *nfs42.SetAttrRes {
	return Add[nfs42.SetAttrRes](c, nfs42ext.OpSetAttr, args, 64)
}

// Open opens a file of the current directory, or the current file.
func (c *Compound) Open(args *nfs42ext.OpenArgs) *nfs42ext.OpenRes {
	return Add[nfs42ext.OpenRes](c, nfs42ext.OpOpen, args, openRoom)
}

// Close closes an open file.
func (c *Compound) Close(id nfs42.StateID) *nfs42.CloseRes {
	return add[nfs42.CloseRes](c, nfs42ext.OpClose, nfs42.CloseArgs{OpenStateID: id}, 16)
}

// Read reads data. See Results.
func (c *Compound) Read(args *nfs42.ReadArgs) *nfs42.ReadRes {
	return Add[nfs42.ReadRes](c, nfs42ext.OpRead, args, 8+pad(int(args.Count)))
}

// Write writes data.
func (c *Compound) Write(args *nfs42.WriteArgs) *nfs42.WriteRes {
	return Add[nfs42.WriteRes](c, nfs42ext.OpWrite, args, 16)
}

// Commit stores written data.
func (c *Compound) Commit(offset uint64, count uint32) *nfs42.CommitRes {
	return add[nfs42.CommitRes](c, nfs42ext.OpCommit, nfs42.CommitArgs{Offset: nfs42.Offset(offset), Count: nfs42.Count(count)}, 8)
}

// ReadDir lists the current directory.
func (c *Compound) ReadDir(args *nfs42.ReadDirArgs) *nfs42.ReadDirRes {
	return Add[nfs42.ReadDirRes](c, nfs42ext.OpReadDir, args, 16+pad(int(args.MaxCount)))
}

// ReadLink reads the target of a symbolic link. See Results.
func (c *Compound) ReadLink() *nfs42.ReadLinkRes {
	return Add[nfs42.ReadLinkRes](c, nfs42ext.OpReadLink, nil, 4+linkRoom)
}

// Create makes a file that is not a regular one.
func (c *Compound) Create(args *nfs42.CreateArgs) *nfs42.CreateRes {
	return Add[nfs42.CreateRes](c, nfs42ext.OpCreate, args, 84)
}

// Remove removes an entry of the current directory.
func (c *Compound) Remove(name string) *nfs42.RemoveRes {
	return add[nfs42.RemoveRes](c, nfs42ext.OpRemove, nfs42.RemoveArgs{Target: nfs42.Component(name)}, 20)
}

// Rename moves an entry of the saved directory to the current one.
func (c *Compound) Rename(from, to string) *nfs42.RenameRes {
	return add[nfs42.RenameRes](c, nfs42ext.OpRename, nfs42.RenameArgs{OldName: nfs42.Component(from), NewName: nfs42.Component(to)}, 40)
}

// Link gives the saved file a further name in the current directory.
func (c *Compound) Link(name string) *nfs42.LinkRes {
	return add[nfs42.LinkRes](c, nfs42ext.OpLink, nfs42.LinkArgs{NewName: nfs42.Component(name)}, 20)
}

// DelegReturn returns a delegation.
func (c *Compound) DelegReturn(id nfs42.StateID) *nfs42.DelegReturnRes {
	return add[nfs42.DelegReturnRes](c, nfs42ext.OpDelegReturn, nfs42.DelegReturnArgs{DelegStateID: id}, 0)
}

// FreeStateID gives up a state ID that the server has revoked.
func (c *Compound) FreeStateID(id nfs42.StateID) *nfs42.FreeStateIDRes {
	return add[nfs42.FreeStateIDRes](c, nfs42ext.OpFreeStateID, nfs42.FreeStateIDArgs{StateID: id}, 0)
}

// TestStateID asks which state IDs are valid.
func (c *Compound) TestStateID(ids []nfs42.StateID) *nfs42.TestStateIDRes {
	return add[nfs42.TestStateIDRes](c, nfs42ext.OpTestStateID, nfs42.TestStateIDArgs{StateIDs: ids}, 4+4*len(ids))
}

// Lock locks a range.
func (c *Compound) Lock(args *nfs42.LockArgs) *nfs42.LockRes {
	return Add[nfs42.LockRes](c, nfs42ext.OpLock, args, 1100)
}

// LockU unlocks a range.
func (c *Compound) LockU(args *nfs42.LockUArgs) *nfs42.LockURes {
	return Add[nfs42.LockURes](c, nfs42ext.OpLockU, args, 16)
}

// GetXattr reads an extended attribute of up to room bytes (RFC 8276).
func (c *Compound) GetXattr(name string, room int) *nfs42xattr.GetXattrRes {
	return add[nfs42xattr.GetXattrRes](c, nfs42ext.OpGetXattr, nfs42xattr.GetXattrArgs{Name: nfs42xattr.XattrKey(name)}, 4+pad(room))
}

// SetXattr sets an extended attribute.
func (c *Compound) SetXattr(args *nfs42xattr.SetXattrArgs) *nfs42xattr.SetXattrRes {
	return Add[nfs42xattr.SetXattrRes](c, nfs42ext.OpSetXattr, args, 20)
}

// ListXattrs lists the names of extended attributes.
func (c *Compound) ListXattrs(args *nfs42xattr.ListXattrsArgs) *nfs42xattr.ListXattrsRes {
	return Add[nfs42xattr.ListXattrsRes](c, nfs42ext.OpListXattrs, args, 16+pad(int(args.MaxCount)))
}

// RemoveXattr removes an extended attribute.
func (c *Compound) RemoveXattr(name string) *nfs42xattr.RemoveXattrRes {
	return add[nfs42xattr.RemoveXattrRes](c, nfs42ext.OpRemoveXattr, nfs42xattr.RemoveXattrArgs{Name: nfs42xattr.XattrKey(name)}, 20)
}

// pad returns n with XDR's padding.
func pad(n int) int { return (n + 3) &^ 3 }
