package nfsd

import (
	"errors"
	"os"
	"path"
	"strings"

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
	err = func() error {
		defer s.tree.Unlock()
		dir, err := s.directory(&where.Dir)
		if err != nil {
			return err
		}
		defer s.wcc(dir, &wcc)()
		if s.cfg.ReadOnly {
			return failed(nfs3.StatusRofs)
		}
		if err := checkName(string(where.Name)); err != nil {
			return err
		}
		if err := c.mayChange(&dir.attr); err != nil {
			return err
		}
		if err := s.willChange(c, dir.path); err != nil {
			return err
		}
		return f(c, dir, string(where.Name))
	}()
	return wcc, s.storeChanged(c, err), nil
}

// willChange opens the directories that a call is going to change, so that they can be stored
// afterwards. This comes before the change, because a call that is answered with an error must not
// have made it.
func (s *Server) willChange(c *caller, dirs ...string) error {
	if s.cfg.Async {
		return nil
	}
	for _, path := range dirs {
		dir, err := s.root.Open(path)
		if err != nil {
			return err
		}
		c.changed = append(c.changed, dir)
	}
	return nil
}

// storeChanged waits until the files and directories that a call has changed are on the disk, and
// closes them. It stores nothing if err, the result of the call, is an error. The caller holds no
// lock, so that other calls run while it waits.
func (s *Server) storeChanged(c *caller, err error) error {
	for _, f := range c.changed {
		if err == nil && !s.cfg.Async {
			err = s.store(f)
		}
		err = errors.Join(err, f.Close())
	}
	return err
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

// made is the result type of the procedures that make an object. Their result types have the same
// fields.
type made = nfs3.CreateResOK

// make makes an object by f, and gives it attributes. mode is the default mode.
func (s *Server) make(r *rpc.Request, where *nfs3.DirOpArgs, a *nfs3.SetAttr, mode nfs3.Mode, f func(c *caller, p string) error) (m made, code nfs3.Status, refused error) {
	wcc, err, refused := s.change(r, where, func(c *caller, dir object, name string) error {
		if dots(name) {
			return failed(nfs3.StatusExist)
		}
		p := path.Join(dir.path, name)
		if err := f(c, p); err != nil {
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
	if err == nil {
		err = s.found(dir, o, name, m)
	}
	if err != nil {
		return errors.Join(err, s.root.Remove(path.Join(dir.path, name)))
	}
	return nil
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
	m, code, refused := s.make(r, &args.Where, &args.Attributes, 0o700, func(_ *caller, p string) error { return s.root.Mkdir(p, 0o700) })
	res.Status, res.OK, res.Fail.DirWcc = code, nfs3.MkDirResOK(m), m.DirWcc
	return refused
}

// SymLink implements nfs3rpc.Server. Any path can be stored: clients follow links, the server does
// not.
func (s *Server) SymLink(r *rpc.Request, args *nfs3.SymLinkArgs, res *nfs3.SymLinkRes) error {
	to := string(args.SymLink.Path)
	m, code, refused := s.make(r, &args.Where, &args.SymLink.Attributes, 0o777, func(_ *caller, p string) error {
		if len(to) > maxLink {
			return failed(nfs3.StatusNametoolong)
		}
		return s.root.Symlink(to, p)
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
	m, code, refused := s.make(r, &args.Where, set, 0o600, func(c *caller, p string) error {
		switch {
		case device && !c.root:
			return failed(nfs3.StatusPerm)
		case !device && what.Type != nfs3.FileTypeFifo && what.Type != nfs3.FileTypeSock:
			return failed(nfs3.StatusBadtype) // RFC 1813 §3.3.11
		}
		return s.within(p, func(dir *os.File, name string) error { return special(dir, name, what) })
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
	s.table.remove(o.ino(), dir.ino(), name)
	return nil
}

// Rename implements nfs3rpc.Server.
func (s *Server) Rename(r *rpc.Request, args *nfs3.RenameArgs, res *nfs3.RenameRes) error {
	c, err := s.caller(r)
	if err != nil {
		return err
	}
	s.tree.Lock()
	err = s.rename(c, args, &res.OK)
	s.tree.Unlock()
	res.Status = status(s.storeChanged(c, err))
	res.Fail = nfs3.RenameResFail(res.OK)
	return nil
}

// rename renames an object.
func (s *Server) rename(c *caller, args *nfs3.RenameArgs, ok *nfs3.RenameResOK) error {
	from, err := s.directory(&args.From.Dir)
	if err != nil {
		return err
	}
	defer s.wcc(from, &ok.FromdirWcc)()
	to, err := s.directory(&args.To.Dir)
	if err != nil {
		return err
	}
	defer s.wcc(to, &ok.TodirWcc)()
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
		if err := c.mayChange(&dir.attr); err != nil {
			return err
		}
	}
	o, err := s.child(from, oldName)
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
	target, err := s.child(to, newName)
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
	if err := s.willChange(c, from.path, to.path); err != nil {
		return err
	}
	if exists && o.attr.Type == nfs3.FileTypeDir && target.attr.Type == nfs3.FileTypeDir {
		if err := s.makeWay(o, target); err != nil {
			return err
		}
	}
	if err := s.root.Rename(o.path, target.path); err != nil {
		return err
	}
	if exists {
		s.table.remove(target.ino(), to.ino(), newName)
	}
	s.table.move(o.ino(), from.ino(), oldName, to.ino(), newName)
	return nil
}

// makeWay removes the empty directory that a RENAME replaces, because os.Root does not rename onto
// directories.
func (s *Server) makeWay(o, target object) error {
	if strings.HasPrefix(target.path, o.path+"/") {
		return failed(nfs3.StatusInval)
	}
	err := s.root.Remove(target.path)
	if status(err) == nfs3.StatusNotempty {
		err = failed(nfs3.StatusExist) // RFC 1813 §3.3.14
	}
	return err
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
		if err != nil {
			return errors.Join(err, s.root.Remove(path.Join(dir.path, name)))
		}
		return nil
	})
	res.Status = status(err)
	res.OK.LinkdirWcc = wcc
	res.Fail = nfs3.LinkResFail(res.OK)
	return refused
}
