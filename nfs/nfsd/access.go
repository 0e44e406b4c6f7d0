package nfsd

import (
	"slices"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// caller is the user of a call, after the mapping of root.
type caller struct {
	uid, gid uint32
	gids     []uint32
	root     bool       // may do everything
	changed  []vfs.File // files and directories to store before the reply: see storage.storeChanged
}

// users maps the users of calls.
type users struct {
	anonUID, anonGID uint32
	single           bool // all act as the anonymous user
	allowRoot        bool
}

func newUsers(cfg *Config, info vfs.Info) users {
	u := users{anonUID: cfg.AnonUID, anonGID: cfg.AnonGID, allowRoot: cfg.AllowRoot}
	if info.Single {
		return users{anonUID: info.UID, anonGID: info.GID, single: true}
	}
	if u.anonUID == 0 {
		u.anonUID = 65534
	}
	if u.anonGID == 0 {
		u.anonGID = 65534
	}
	return u
}

// noID is the number of no user and no group. For chown(2) it means "no change": an object that is
// made for such a user would stay root's.
const noID = 1<<32 - 1

// caller returns the user of a call. AUTH_SYS proves nothing: the client's word is taken, except
// for root. The error, for a malformed credential, refuses the call.
func (u *users) caller(r *rpc.Request) (*caller, error) {
	if u.single || r.Cred().Flavor == oncrpc.AuthNone {
		return &caller{uid: u.anonUID, gid: u.anonGID}, nil
	}
	user, err := r.AuthSys()
	if err != nil {
		return nil, err
	}
	c := &caller{uid: user.UID, gid: user.GID, gids: user.GIDs, root: user.UID == 0 && u.allowRoot}
	if c.uid == noID || c.uid == 0 && !u.allowRoot {
		c.uid = u.anonUID
	}
	if c.gid == noID || c.gid == 0 && !u.allowRoot {
		c.gid = u.anonGID
	}
	for i, gid := range c.gids {
		if gid == 0 && !u.allowRoot {
			c.gids[i] = u.anonGID
		}
	}
	return c, nil
}

func (c *caller) owns(a *nfs3.Attr) bool { return c.root || uint32(a.UID) == c.uid }

func (c *caller) in(gid nfs3.GID) bool {
	return uint32(gid) == c.gid || slices.Contains(c.gids, uint32(gid))
}

// The rights of a mode. Whoever adds or removes names of a directory has to search it, too.
const (
	mayRead, mayWrite, mayExecute nfs3.Mode = 4, 2, 1
	mayChange                               = mayWrite | mayExecute
)

// rights returns the rights that the mode bits give a caller. Root may execute a file if anyone
// may.
func (c *caller) rights(a *nfs3.Attr) nfs3.Mode {
	switch {
	case c.root && (a.Type == nfs3.FileTypeDir || a.Mode&0o111 != 0):
		return mayRead | mayWrite | mayExecute
	case c.root:
		return mayRead | mayWrite
	case uint32(a.UID) == c.uid:
		return a.Mode >> 6 & 7
	case c.in(a.GID):
		return a.Mode >> 3 & 7
	}
	return a.Mode & 7
}

// need returns NFS3ERR_ACCES if a caller lacks a right.
func (c *caller) need(a *nfs3.Attr, right nfs3.Mode) error {
	if c.rights(a)&right != right {
		return failed(nfs3.StatusAcces)
	}
	return nil
}

// needData returns NFS3ERR_ACCES if a caller may not read or write a file. Its owner always may,
// because a client checks when a program opens the file, and the mode may change later (RFC 1813
// §4.4). A caller that may execute the file may read it.
func (c *caller) needData(a *nfs3.Attr, right nfs3.Mode) error {
	if c.owns(a) || right == mayRead && c.rights(a)&mayExecute != 0 {
		return nil
	}
	return c.need(a, right)
}

// mayRemove returns an error if a caller that may change a directory may not remove the name of an
// object from it.
func (c *caller) mayRemove(dir, a *nfs3.Attr) error {
	if dir.Mode&sticky != 0 && !c.owns(dir) && !c.owns(a) {
		return failed(nfs3.StatusPerm)
	}
	return nil
}

// maySet returns an error if a caller may not change attributes. Ids count even if the object has
// them, as in chown(2) of POSIX.
func (c *caller) maySet(a *nfs3.Attr, set *nfs3.SetAttr) error {
	times := set.Atime.SetIt != nfs3.TimeHowDontChange || set.Mtime.SetIt != nfs3.TimeHowDontChange
	exact := set.Atime.SetIt == nfs3.TimeHowSetToClientTime || set.Mtime.SetIt == nfs3.TimeHowSetToClientTime
	switch {
	case a.Type == nfs3.FileTypeLnk && set.Mode.SetIt:
		return failed(nfs3.StatusNotsupp)
	case (set.Mode.SetIt || exact) && !c.owns(a),
		(set.UID.SetIt || set.GID.SetIt) && !c.owns(a),
		set.UID.SetIt && set.UID.UID != a.UID && !c.root,
		set.GID.SetIt && set.GID.GID != a.GID && !c.root && !c.in(set.GID.GID):
		return failed(nfs3.StatusPerm)
	case set.Atime.Atime.Nseconds >= 1e9 || set.Mtime.Mtime.Nseconds >= 1e9:
		return failed(nfs3.StatusInval)
	case set.UID.SetIt && set.UID.UID == noID || set.GID.SetIt && set.GID.GID == noID:
		return failed(nfs3.StatusInval)
	}
	if set.Size.SetIt || times && !exact {
		if err := c.needData(a, mayWrite); err != nil {
			return err
		}
	}
	return nil
}

// modeFor returns the mode that an object gets, and whether that is a change. A caller outside the
// object's group cannot set the set-group-ID bit. A file loses this and the set-user-ID bit when
// its owner or group is set, as in Linux's server, even if root sets the ids that the file already
// has.
func (c *caller) modeFor(a *nfs3.Attr, set *nfs3.SetAttr) (mode nfs3.Mode, change bool) {
	mode = a.Mode
	gid := a.GID
	if set.GID.SetIt {
		gid = set.GID.GID
	}
	if set.Mode.SetIt {
		if mode = set.Mode.Mode & 0o7777; !c.root && !c.in(gid) {
			mode &^= setGID
		}
	}
	if (set.UID.SetIt || set.GID.SetIt) && a.Type != nfs3.FileTypeDir && a.Type != nfs3.FileTypeLnk {
		mode &^= setUID | setGID
	}
	return mode, set.Mode.SetIt || mode != a.Mode
}

// clearSetID takes the set-user-ID and set-group-ID bits from a file whose data is about to change.
// The system does that for users but not for root, as whom the server may run.
func (c *caller) clearSetID(f vfs.File, a *nfs3.Attr) error {
	if c.root || a.Mode&(setUID|setGID) == 0 {
		return nil
	}
	return f.Chmod(fileMode(a.Mode &^ (setUID | setGID)))
}

// access returns the bits of ACCESS that a caller has (RFC 1813 §3.3.4). For a directory the
// bits follow from the rights that the procedures need: see mayChange.
func (c *caller) access(a *nfs3.Attr, readOnly bool) uint32 {
	modify, execute, change := uint32(nfs3.AccessModify|nfs3.AccessExtend), uint32(nfs3.AccessExecute), mayWrite
	if a.Type == nfs3.FileTypeDir {
		modify, execute, change = modify|nfs3.AccessDelete, nfs3.AccessLookup, mayChange
	}
	var granted uint32
	if c.need(a, mayRead) == nil {
		granted |= nfs3.AccessRead
	}
	if c.need(a, change) == nil && !readOnly {
		granted |= modify
	}
	if c.need(a, mayExecute) == nil {
		granted |= execute
	}
	return granted
}
