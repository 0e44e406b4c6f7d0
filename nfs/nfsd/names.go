package nfsd

import (
	"errors"
	"io/fs"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// maxLink is the longest path of a symbolic link in bytes.
const maxLink = 4095

// Lookup implements nfs3rpc.Server.
func (s *Server) Lookup(r *rpc.Request, args *nfs3.LookupArgs, res *nfs3.LookupRes) error {
	c, err := s.users.caller(r)
	if err != nil {
		return err
	}
	s.tree.RLock()
	defer s.tree.RUnlock()
	dir, err := s.tree.directory(&args.What.Dir)
	if err == nil {
		res.OK.DirAttributes = dir.after()
		res.Fail.DirAttributes = res.OK.DirAttributes
		var o object
		if o, err = lookup(c, dir, string(args.What.Name)); err == nil {
			res.OK.ObjAttributes = o.after()
			res.OK.Object, err = s.tree.handle(o)
		}
	}
	res.Status = status(err)
	return nil
}

// lookup returns the object with a name in a directory, if the caller may search it.
func lookup(c *caller, dir object, name string) (object, error) {
	if err := checkName(name); err != nil {
		return object{}, err
	}
	if !dir.isDir() {
		return object{}, failed(nfs3.StatusNotdir)
	}
	if err := c.need(&dir.attr, mayExecute); err != nil {
		return object{}, err
	}
	return dir.child(name)
}

// lockNames locks the tree for a change of names, and returns the function that unlocks it: by
// defer, as a method of the FS may panic. A server that refuses all changes waits for no other call
// to do so.
func (s *Server) lockNames() (unlock func()) {
	if s.cfg.ReadOnly {
		s.tree.RLock()
		return s.tree.RUnlock
	}
	s.tree.Lock()
	return s.tree.Unlock
}

// change calls f to change the names of a directory. It checks the name and the rights to the
// directory before, and returns the attributes of the directory before and after, with no other
// change between them.
func (s *Server) change(r *rpc.Request, where *nfs3.DirOpArgs, needed nfs3.Mode, f func(c *caller, dir object, name string) error) (wcc nfs3.WccData, err, refused error) {
	c, refused := s.users.caller(r)
	if refused != nil {
		return wcc, nil, refused
	}
	err = func() error {
		defer s.lockNames()()
		dir, err := s.tree.directory(&where.Dir)
		if err != nil {
			return err
		}
		defer dir.wcc(&wcc)()
		if s.cfg.ReadOnly {
			return failed(nfs3.StatusRofs)
		}
		if err := checkName(string(where.Name)); err != nil {
			return err
		}
		if err := c.need(&dir.attr, needed); err != nil {
			return err
		}
		if err := s.stored.willChange(c, dir); err != nil {
			return err
		}
		return f(c, dir, string(where.Name))
	}()
	return wcc, s.stored.storeChanged(c, err), nil
}

// made is the result type of the procedures that make an object. Their result types have the same
// fields.
type made = nfs3.CreateResOK

// make makes the object that f describes, and gives it attributes. mode is the default mode.
func (s *Server) make(r *rpc.Request, where *nfs3.DirOpArgs, a *nfs3.SetAttr, mode nfs3.Mode, f func(c *caller) (vfs.New, error)) (m made, code nfs3.Status, refused error) {
	wcc, err, refused := s.change(r, where, mayChange, func(c *caller, dir object, name string) error {
		if dots(name) {
			return failed(nfs3.StatusExist)
		}
		what, err := f(c)
		if err != nil {
			return err
		}
		o, err := found(dir.node.Create(name, what))
		if err != nil {
			return err
		}
		return s.finish(c, dir, o, name, a, mode, &m)
	})
	m.DirWcc = wcc
	return m, status(err), refused
}

// finish gives a new object its attributes and sets the result. If that fails, the object is
// removed again.
func (s *Server) finish(c *caller, dir, o object, name string, a *nfs3.SetAttr, mode nfs3.Mode, m *made) error {
	err := s.stored.willStore(c, o)
	if err == nil {
		err = s.users.created(c, dir, &o, a, mode)
	}
	if err == nil {
		err = s.tree.results(o, m)
	}
	if err != nil {
		return errors.Join(err, dir.node.Remove(name))
	}
	return nil
}

// results sets the result to an object.
func (t *tree) results(o object, m *made) error {
	h, err := t.handle(o)
	m.Obj = nfs3.PostOpHandle{HandleFollows: true, Handle: h}
	m.ObjAttributes = o.after()
	return err
}

// MkDir implements nfs3rpc.Server.
func (s *Server) MkDir(r *rpc.Request, args *nfs3.MkDirArgs, res *nfs3.MkDirRes) error {
	m, code, refused := s.make(r, &args.Where, &args.Attributes, 0o700, func(*caller) (vfs.New, error) { return vfs.New{Mode: fs.ModeDir | 0o700}, nil })
	res.Status, res.OK, res.Fail.DirWcc = code, nfs3.MkDirResOK(m), m.DirWcc
	return refused
}

// SymLink implements nfs3rpc.Server. Any path can be stored: clients follow links, the server does
// not.
func (s *Server) SymLink(r *rpc.Request, args *nfs3.SymLinkArgs, res *nfs3.SymLinkRes) error {
	to := string(args.SymLink.Path)
	m, code, refused := s.make(r, &args.Where, &args.SymLink.Attributes, 0o777, func(*caller) (vfs.New, error) {
		if len(to) > maxLink {
			return vfs.New{}, failed(nfs3.StatusNametoolong)
		}
		return vfs.New{Mode: fs.ModeSymlink | 0o777, Target: to}, nil
	})
	res.Status, res.OK, res.Fail.DirWcc = code, nfs3.SymLinkResOK(m), m.DirWcc
	return refused
}

// MkNod implements nfs3rpc.Server. Only root makes devices.
func (s *Server) MkNod(r *rpc.Request, args *nfs3.MkNodArgs, res *nfs3.MkNodRes) error {
	what := &args.What
	device := what.Type == nfs3.FileTypeChr || what.Type == nfs3.FileTypeBlk
	set := &what.PipeAttributes
	if device {
		set = &what.Device.DevAttributes
	}
	m, code, refused := s.make(r, &args.Where, set, 0o600, func(c *caller) (n vfs.New, err error) {
		switch {
		case device && !c.root:
			return n, failed(nfs3.StatusPerm)
		case !device && what.Type != nfs3.FileTypeFifo && what.Type != nfs3.FileTypeSock:
			return n, failed(nfs3.StatusBadtype) // RFC 1813 §3.3.11
		}
		return vfs.New{Mode: typeOf(what.Type) | 0o600, Major: what.Device.Spec.Specdata1, Minor: what.Device.Spec.Specdata2}, nil
	})
	res.Status, res.OK, res.Fail.DirWcc = code, nfs3.MkNodResOK(m), m.DirWcc
	return refused
}

// Remove implements nfs3rpc.Server.
func (s *Server) Remove(r *rpc.Request, args *nfs3.RemoveArgs, res *nfs3.RemoveRes) error {
	wcc, err, refused := s.change(r, &args.Object, mayChange, func(c *caller, dir object, name string) error {
		if dots(name) {
			return failed(nfs3.StatusIsdir)
		}
		return remove(c, dir, name, false)
	})
	res.Status, res.OK.DirWcc, res.Fail.DirWcc = status(err), wcc, wcc
	return refused
}

// RmDir implements nfs3rpc.Server.
func (s *Server) RmDir(r *rpc.Request, args *nfs3.RmDirArgs, res *nfs3.RmDirRes) error {
	wcc, err, refused := s.change(r, &args.Object, mayChange, func(c *caller, dir object, name string) error {
		switch name { // RFC 1813 §3.3.13
		case ".":
			return failed(nfs3.StatusInval)
		case "..":
			return failed(nfs3.StatusExist)
		}
		return remove(c, dir, name, true)
	})
	res.Status, res.OK.DirWcc, res.Fail.DirWcc = status(err), wcc, wcc
	return refused
}

// remove removes a directory, or something else than a directory.
func remove(c *caller, dir object, name string, directory bool) error {
	o, err := dir.child(name)
	switch isDir := o.isDir(); {
	case err != nil:
		return err
	case isDir && !directory:
		return failed(nfs3.StatusIsdir)
	case !isDir && directory:
		return failed(nfs3.StatusNotdir)
	}
	if err := c.mayRemove(&dir.attr, &o.attr); err != nil {
		return err
	}
	return dir.node.Remove(name)
}

// Rename implements nfs3rpc.Server.
func (s *Server) Rename(r *rpc.Request, args *nfs3.RenameArgs, res *nfs3.RenameRes) error {
	c, err := s.users.caller(r)
	if err != nil {
		return err
	}
	err = s.rename(c, args, &res.OK)
	res.Status = status(s.stored.storeChanged(c, err))
	res.Fail = nfs3.RenameResFail(res.OK)
	return nil
}

// rename renames an object.
func (s *Server) rename(c *caller, args *nfs3.RenameArgs, ok *nfs3.RenameResOK) error {
	defer s.lockNames()()
	from, err := s.tree.directory(&args.From.Dir)
	if err != nil {
		return err
	}
	defer from.wcc(&ok.FromdirWcc)()
	to, err := s.tree.directory(&args.To.Dir)
	if err != nil {
		return err
	}
	defer to.wcc(&ok.TodirWcc)()
	if s.cfg.ReadOnly {
		return failed(nfs3.StatusRofs)
	}
	oldName, newName := string(args.From.Name), string(args.To.Name)
	for _, name := range []string{oldName, newName} {
		if err := checkName(name); err != nil {
			return err
		}
		if dots(name) {
			return failed(nfs3.StatusInval) // RFC 1813 §3.3.14
		}
	}
	// This is before the names are looked up, because without search permission the caller must not
	// learn whether a name exists.
	for _, dir := range []object{from, to} {
		if err := c.need(&dir.attr, mayChange); err != nil {
			return err
		}
	}
	o, err := from.child(oldName)
	if err != nil {
		return err
	}
	if err := c.mayRemove(&from.attr, &o.attr); err != nil {
		return err
	}
	if o.attr.Type == nfs3.FileTypeDir && from.ino() != to.ino() {
		if err := c.need(&o.attr, mayWrite); err != nil { // its ".." changes
			return err
		}
	}
	target, err := to.child(newName)
	exists := err == nil
	switch {
	case exists:
		err = c.mayRemove(&to.attr, &target.attr)
	case status(err) == nfs3.StatusNoent:
		err = nil
	}
	if err != nil || exists && target.ino() == o.ino() {
		return err // two names of one file stay as they are (RFC 1813 §3.3.14)
	}
	if err := s.stored.willChange(c, from, to); err != nil {
		return err
	}
	err = from.node.Rename(oldName, to.node, newName)
	if status(err) == nfs3.StatusNotempty {
		err = failed(nfs3.StatusExist) // RFC 1813 §3.3.14
	}
	return err
}

// Link implements nfs3rpc.Server.
func (s *Server) Link(r *rpc.Request, args *nfs3.LinkArgs, res *nfs3.LinkRes) error {
	wcc, err, refused := s.change(r, &args.Link, mayChange, func(c *caller, dir object, name string) error {
		o, err := s.tree.object(&args.File)
		switch {
		case err != nil:
			return err
		case o.attr.Type == nfs3.FileTypeDir:
			return failed(nfs3.StatusIsdir)
		case dots(name):
			return failed(nfs3.StatusExist)
		case !c.owns(&o.attr) && (o.attr.Type != nfs3.FileTypeReg || c.rights(&o.attr)&(mayRead|mayWrite) != mayRead|mayWrite || o.attr.Mode&(setUID|setGID) != 0):
			return failed(nfs3.StatusPerm) // as Linux protects hard links: proc_sys_fs(5)
		}
		if err := o.node.Link(dir.node, name); err != nil {
			return err
		}
		o, err = dir.child(name)
		if err == nil {
			res.OK.FileAttributes = o.after()
			_, err = s.tree.handle(o) // of the new name
		}
		if err != nil {
			return errors.Join(err, dir.node.Remove(name))
		}
		return nil
	})
	res.Status = status(err)
	res.OK.LinkdirWcc = wcc
	res.Fail = nfs3.LinkResFail(res.OK)
	return refused
}
