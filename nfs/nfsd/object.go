package nfsd

import (
	"sync"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// tree is the file system that is served, with the handles of its files and the locks that package
// vfs wants.
type tree struct {
	// The tree is locked for writing while names change, and for reading by all other calls, except
	// while they wait for a disk to read or store data. So a Node stays valid during a call, and
	// the attributes before and after a change of a directory have nothing between them.
	sync.RWMutex
	// inodes are locks, picked by inode number: a holder excludes other changes of that file, so
	// that the attributes before and after a change have nothing between them.
	inodes [64]sync.Mutex

	fs      vfs.FS
	handles handles
}

// inode returns the lock of a file's data and attributes.
func (t *tree) inode(ino uint64) *sync.Mutex { return &t.inodes[ino%uint64(len(t.inodes))] }

// object is a file, directory or other thing that a handle or a name leads to, with the attributes
// found in this call.
type object struct {
	node vfs.Node
	attr nfs3.Attr
}

// found returns the object of a Node that a method of package vfs has found.
func found(node vfs.Node, a vfs.Attr, err error) (object, error) {
	return object{node, attrOf(&a)}, err
}

func (o *object) ino() uint64 { return uint64(o.attr.FileID) }

func (o *object) isDir() bool { return o.attr.Type == nfs3.FileTypeDir }

func (o *object) after() nfs3.PostOpAttr {
	return nfs3.PostOpAttr{AttributesFollow: true, Attributes: o.attr}
}

func (o *object) before() nfs3.PreOpAttr {
	a := &o.attr
	return nfs3.PreOpAttr{AttributesFollow: true, Attributes: nfs3.WccAttr{Size: a.Size, Mtime: a.Mtime, Ctime: a.Ctime}}
}

// refresh gets the attributes again, with the lock of the inode held: another call may have changed
// them before.
func (o *object) refresh() error {
	a, err := o.node.Attr()
	if err == nil {
		o.attr = attrOf(&a)
	}
	return err
}

// wcc sets the attributes of an object before a change, and returns a function that sets those
// after it.
func (o object) wcc(wcc *nfs3.WccData) func() {
	wcc.Before = o.before()
	return func() {
		if o.refresh() == nil {
			wcc.After = o.after()
		}
	}
}

// open opens a regular file. For the caller's rights see needData.
func (o *object) open(access vfs.Access) (vfs.File, error) {
	switch o.attr.Type {
	case nfs3.FileTypeReg:
		return o.node.Open(access)
	case nfs3.FileTypeDir:
		return nil, failed(nfs3.StatusIsdir)
	}
	return nil, failed(nfs3.StatusInval)
}

// object finds the object of a handle. The caller holds t.
func (t *tree) object(h *nfs3.Handle) (object, error) {
	id, ok := t.handles.open(h.Data)
	if !ok {
		return object{}, failed(nfs3.StatusBadhandle) // RFC 1813 §2.6: not a handle of this server
	}
	return found(t.fs.Resolve(id))
}

// directory finds the directory of a handle.
func (t *tree) directory(h *nfs3.Handle) (object, error) {
	o, err := t.object(h)
	if err == nil && !o.isDir() {
		err = failed(nfs3.StatusNotdir)
	}
	return o, err
}

// child finds an object in a directory. If no object has that name, the error has the status
// NFS3ERR_NOENT.
func (dir *object) child(name string) (object, error) { return found(dir.node.Lookup(name)) }

// handle returns the handle of an object.
func (t *tree) handle(o object) (nfs3.Handle, error) {
	id, err := o.node.ID()
	return t.handles.seal(id), err
}
