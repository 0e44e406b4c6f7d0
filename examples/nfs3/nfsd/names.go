package nfsd

import (
	"errors"
	"os"
	"path"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// maxLink is the longest path of a symbolic link in bytes.
const maxLink = 4095

// Lookup implements nfs3rpc.Server.
func (s *Server) Lookup(r *rpc.Request, args *nfs3.LookupArgs, res *nfs3.LookupRes) error {
	c, err := s.caller(r)
	if err != nil {
		return err
	}
	s.tree.RLock()
	defer s.tree.RUnlock()
	dir, err := s.directory(&args.What.Dir)
	if err == nil {
		res.OK.DirAttributes = dir.after()
		res.Fail.DirAttributes = res.OK.DirAttributes
		res.OK.Object, res.OK.ObjAttributes, err = s.lookup(c, dir, string(args.What.Name))
	}
	res.Status = status(err)
	return nil
}

// lookup returns the handle and the attributes of a name in a directory.
func (s *Server) lookup(c *caller, dir object, name string) (h nfs3.Handle, a nfs3.PostOpAttr, err error) {
	if err := checkName(name); err != nil {
		return h, a, err
	}
	if err := c.need(&dir.attr, mayExecute); err != nil {
		return h, a, err
	}
	var o object
	switch name {
	case ".":
		return s.table.seal(dir.ino(), s.table.generation(dir.ino())), dir.after(), nil
	case "..":
		ino := s.table.parent(dir.ino())
		h = s.table.seal(ino, s.table.generation(ino))
		o, err = s.object(&h)
	default:
		if o, err = s.child(dir, name); err == nil {
			h, err = s.handle(dir, o, name)
		}
	}
	return h, o.after(), err
}

// change calls f to change the names of a directory. It checks the name and the rights before, and
// returns the attributes of the directory before and after, with no other change between them.
func (s *Server) change(r *rpc.Request, where *nfs3.DirOpArgs, f func(c *caller, dir object, name string) error) (wcc nfs3.WccData, err, refused error) {
	c, refused := s.caller(r)
	if refused != nil {
		return wcc, nil, refused
	}
	s.tree.Lock()
	stored, err := func() (*os.File, error) {
		defer s.tree.Unlock()
		dir, err := s.directory(&where.Dir)
		if err != nil {
			return nil, err
		}
		defer s.wcc(dir, &wcc)()
		if s.cfg.ReadOnly {
			return nil, failed(nfs3.StatusRofs)
		}
		if err := checkName(string(where.Name)); err != nil {
			return nil, err
		}
		if err := c.mayChange(&dir.attr); err != nil {
			return nil, err
		}
		f := f(c, dir, string(where.Name))
		if f != nil || s.cfg.Async {
			return nil, f
		}
		return s.root.Open(dir.path)
	}()
	return wcc, errors.Join(err, s.storeDirs(stored)), nil
}

// wcc sets the attributes of an object before a change, and returns a function that sets those
// after it.
func (s *Server) wcc(o object, wcc *nfs3.WccData) func() {
	wcc.Before = o.before()
	return func() {
		if st, err := s.lstat(o.path); err == nil && st.ino() == o.ino() {
			wcc.After = st.after()
		}
	}
}

// storeDirs waits until directories are on the disk, and closes them. nil stands for none.
func (s *Server) storeDirs(dirs ...*os.File) error {
	var errs []error
	for _, dir := range dirs {
		if dir != nil {
			errs = append(errs, s.store(dir), dir.Close())
		}
	}
	return errors.Join(errs...)
}

// made is the result of the procedures that make an object: these have types of one form.
type made = nfs3.CreateResOK

// make makes an object by f, and gives it attributes, of which mode is the default.
func (s *Server) make(r *rpc.Request, where *nfs3.DirOpArgs, a *nfs3.SetAttr, mode nfs3.Mode, f func(p string) error) (m made, code nfs3.Status, refused error) {
	wcc, err, refused := s.change(r, where, func(c *caller, dir object, name string) error {
		if dots(name) {
			return failed(nfs3.StatusExist)
		}
		p := path.Join(dir.path, name)
		if err := f(p); err != nil {
			return err
		}
		return s.finish(c, dir, name, a, mode, &m)
	})
	m.DirWcc = wcc
	return m, status(err), refused
}

// finish gives a new object its attributes and sets the result. If that fails, the object is
// removed again.
func (s *Server) finish(c *caller, dir object, name string, a *nfs3.SetAttr, mode nfs3.Mode, m *made) error {
	o, err := s.created(c, dir, name, a, mode)
	if err != nil {
		return errors.Join(err, s.root.Remove(path.Join(dir.path, name)))
	}
	return s.found(dir, o, name, m)
}

// found sets the result to an object.
func (s *Server) found(dir, o object, name string, m *made) error {
	h, err := s.handle(dir, o, name)
	m.Obj = nfs3.PostOpHandle{HandleFollows: true, Handle: h}
	m.ObjAttributes = o.after()
	return err
}

// MkDir implements nfs3rpc.Server.
func (s *Server) MkDir(r *rpc.Request, args *nfs3.MkDirArgs, res *nfs3.MkDirRes) error {
	m, code, refused := s.make(r, &args.Where, &args.Attributes, 0o700, func(p string) error { return s.root.Mkdir(p, 0o700) })
	res.Status, res.OK, res.Fail.DirWcc = code, nfs3.MkDirResOK(m), m.DirWcc
	return refused
}

// SymLink implements nfs3rpc.Server. Any path can be stored: clients follow links, the server does
// not.
func (s *Server) SymLink(r *rpc.Request, args *nfs3.SymLinkArgs, res *nfs3.SymLinkRes) error {
	to := string(args.SymLink.Path)
	m, code, refused := s.make(r, &args.Where, &args.SymLink.Attributes, 0o777, func(p string) error {
		if len(to) > maxLink {
			return failed(nfs3.StatusNametoolong)
		}
		return s.root.Symlink(to, p)
	})
	res.Status, res.OK, res.Fail.DirWcc = code, nfs3.SymLinkResOK(m), m.DirWcc
	return refused
}

// MkNod implements nfs3rpc.Server. It makes named pipes and sockets, and no devices.
func (s *Server) MkNod(r *rpc.Request, args *nfs3.MkNodArgs, res *nfs3.MkNodRes) error {
	m, code, refused := s.make(r, &args.Where, &args.What.PipeAttributes, 0o600, func(p string) error {
		switch args.What.Type {
		case nfs3.FileTypeFifo, nfs3.FileTypeSock:
		case nfs3.FileTypeChr, nfs3.FileTypeBlk:
			return failed(nfs3.StatusNotsupp)
		default:
			return failed(nfs3.StatusBadtype) // RFC 1813 §3.3.11
		}
		dir, err := s.root.Open(path.Dir(p))
		if err != nil {
			return err
		}
		defer dir.Close()
		return special(dir, path.Base(p), args.What.Type)
	})
	res.Status, res.OK, res.Fail.DirWcc = code, nfs3.MkNodResOK(m), m.DirWcc
	return refused
}

// Remove implements nfs3rpc.Server.
func (s *Server) Remove(r *rpc.Request, args *nfs3.RemoveArgs, res *nfs3.RemoveRes) error {
	wcc, err, refused := s.change(r, &args.Object, func(c *caller, dir object, name string) error {
		if dots(name) {
			return failed(nfs3.StatusIsdir)
		}
		return s.remove(c, dir, name, false)
	})
	res.Status, res.OK.DirWcc, res.Fail.DirWcc = status(err), wcc, wcc
	return refused
}

// RmDir implements nfs3rpc.Server.
func (s *Server) RmDir(r *rpc.Request, args *nfs3.RmDirArgs, res *nfs3.RmDirRes) error {
	wcc, err, refused := s.change(r, &args.Object, func(c *caller, dir object, name string) error {
		switch name { // RFC 1813 §3.3.13
		case ".":
			return failed(nfs3.StatusInval)
		case "..":
			return failed(nfs3.StatusExist)
		}
		return s.remove(c, dir, name, true)
	})
	res.Status, res.OK.DirWcc, res.Fail.DirWcc = status(err), wcc, wcc
	return refused
}

// remove removes a directory, or something else than a directory.
func (s *Server) remove(c *caller, dir object, name string, directory bool) error {
	o, err := s.child(dir, name)
	switch isDir := o.attr.Type == nfs3.FileTypeDir; {
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
	if err := s.root.Remove(o.path); err != nil {
		return err
	}
	return s.table.remove(o.ino(), dir.ino(), name)
}

// Rename implements nfs3rpc.Server.
func (s *Server) Rename(r *rpc.Request, args *nfs3.RenameArgs, res *nfs3.RenameRes) error {
	c, err := s.caller(r)
	if err != nil {
		return err
	}
	s.tree.Lock()
	stored, err := s.rename(c, args, &res.OK)
	s.tree.Unlock()
	res.Status = status(errors.Join(err, s.storeDirs(stored...)))
	res.Fail = nfs3.RenameResFail(res.OK)
	return nil
}

// rename renames an object, and returns the directories to store.
func (s *Server) rename(c *caller, args *nfs3.RenameArgs, ok *nfs3.RenameResOK) (stored []*os.File, err error) {
	from, err := s.directory(&args.From.Dir)
	if err != nil {
		return nil, err
	}
	defer s.wcc(from, &ok.FromdirWcc)()
	to, err := s.directory(&args.To.Dir)
	if err != nil {
		return nil, err
	}
	defer s.wcc(to, &ok.TodirWcc)()
	if s.cfg.ReadOnly {
		return nil, failed(nfs3.StatusRofs)
	}
	oldName, newName := string(args.From.Name), string(args.To.Name)
	for _, name := range []string{oldName, newName} {
		if err := checkName(name); err != nil {
			return nil, err
		}
		if dots(name) {
			return nil, failed(nfs3.StatusInval) // RFC 1813 §3.3.14
		}
	}
	o, err := s.child(from, oldName)
	if err != nil {
		return nil, err
	}
	if err := c.mayRemove(&from.attr, &o.attr); err != nil {
		return nil, err
	}
	if o.attr.Type == nfs3.FileTypeDir && from.ino() != to.ino() {
		if err := c.need(&o.attr, mayWrite); err != nil { // its ".." changes
			return nil, err
		}
	}
	target, err := s.child(to, newName)
	exists := err == nil
	switch {
	case exists:
		err = c.mayRemove(&to.attr, &target.attr)
	case status(err) == nfs3.StatusNoent:
		err = c.mayChange(&to.attr)
	}
	if err != nil || exists && target.ino() == o.ino() {
		return nil, err // two names of one file stay as they are (RFC 1813 §3.3.14)
	}
	if err := s.root.Rename(o.path, target.path); err != nil {
		return nil, err
	}
	if exists {
		err = s.table.remove(target.ino(), to.ino(), newName)
	}
	err = errors.Join(err, s.table.move(o.ino(), from.ino(), oldName, to.ino(), newName))
	if s.cfg.Async {
		return nil, err
	}
	for _, p := range []string{path.Dir(o.path), path.Dir(target.path)} {
		dir, failure := s.root.Open(p)
		if failure == nil {
			stored = append(stored, dir)
		}
		err = errors.Join(err, failure)
	}
	return stored, err
}

// Link implements nfs3rpc.Server.
func (s *Server) Link(r *rpc.Request, args *nfs3.LinkArgs, res *nfs3.LinkRes) error {
	wcc, err, refused := s.change(r, &args.Link, func(c *caller, dir object, name string) error {
		o, err := s.object(&args.File)
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
		if err := s.root.Link(o.path, path.Join(dir.path, name)); err != nil {
			return err
		}
		o, err = s.child(dir, name)
		if err == nil {
			res.OK.FileAttributes = o.after()
			_, err = s.handle(dir, o, name)
		}
		return err
	})
	res.Status = status(err)
	res.OK.LinkdirWcc = wcc
	res.Fail = nfs3.LinkResFail(res.OK)
	return refused
}
