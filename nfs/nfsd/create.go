package nfsd

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// Create implements nfs3rpc.Server. A file that exists is opened, as by open(2): that changes no
// name, so the caller need not have the right to.
func (s *Server) Create(r *rpc.Request, args *nfs3.CreateArgs, res *nfs3.CreateRes) error {
	var m made
	wcc, err, refused := s.change(r, &args.Where, mayExecute, func(c *caller, dir object, name string) error {
		if dots(name) {
			return failed(nfs3.StatusExist)
		}
		if err := c.need(&dir.attr, mayChange); err != nil {
			if _, missing := dir.child(name); missing != nil {
				return err
			}
			return s.createExisting(c, dir, name, &args.How, &m)
		}
		o, err := found(dir.node.Create(name, vfs.New{Mode: 0o600}))
		if status(err) == nfs3.StatusExist {
			return s.createExisting(c, dir, name, &args.How, &m)
		}
		if err != nil {
			return err
		}
		set := args.How.ObjAttributes
		if args.How.Mode == nfs3.CreateModeExclusive {
			set.Atime, set.Mtime = verifierTimes(args.How.Verf)
		}
		return s.finish(c, dir, o, name, &set, 0o600, &m)
	})
	m.DirWcc = wcc
	res.Status, res.OK, res.Fail.DirWcc = status(err), m, wcc
	return refused
}

// createExisting answers a CREATE of a name that exists. UNCHECKED takes the file, and sets its
// size if it is to be emptied. EXCLUSIVE takes it if it has the verifier: then this is the same
// call again, perhaps after a restart.
func (s *Server) createExisting(c *caller, dir object, name string, how *nfs3.CreateHow, m *made) error {
	o, err := dir.child(name)
	if err != nil {
		return err
	}
	switch {
	case o.attr.Type != nfs3.FileTypeReg:
		return failed(nfs3.StatusExist)
	case how.Mode == nfs3.CreateModeExclusive:
		atime, mtime := verifierTimes(how.Verf)
		if o.attr.Atime != atime.Atime || o.attr.Mtime != mtime.Mtime {
			return failed(nfs3.StatusExist)
		}
	case how.Mode == nfs3.CreateModeGuarded:
		return failed(nfs3.StatusExist)
	case how.ObjAttributes.Size.SetIt:
		if err := setAttr(c, o, &nfs3.SetAttr{Size: how.ObjAttributes.Size}); err != nil {
			return err
		}
		if err := s.stored.changedData(c, o); err != nil {
			return err
		}
		if o, err = dir.child(name); err != nil {
			return err
		}
	}
	return s.tree.results(o, m)
}

// verifierTimes returns the times of a new file that stand for the verifier of an exclusive CREATE,
// until the client sets the attributes (RFC 1813 §3.3.8). All file systems keep seconds of 31 bits.
func verifierTimes(verf nfs3.CreateVerf) (nfs3.SetAtime, nfs3.SetMtime) {
	const most = 1<<31 - 1
	atime := nfs3.Time{Seconds: binary.BigEndian.Uint32(verf[:]) & most}
	mtime := nfs3.Time{Seconds: binary.BigEndian.Uint32(verf[4:]) & most}
	return nfs3.SetAtime{SetIt: nfs3.TimeHowSetToClientTime, Atime: atime}, nfs3.SetMtime{SetIt: nfs3.TimeHowSetToClientTime, Mtime: mtime}
}
