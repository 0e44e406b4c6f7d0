package nfsd

import (
	"crypto/rand"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// storage waits for the disk, and has the write verifier, which changes when data was lost.
type storage struct {
	async bool                 // Config.Async
	sync  func(vfs.File) error // vfs.File.Sync, except in tests
	verf  atomic.Pointer[nfs3.WriteVerf]
	// locks serialize store for a file, by inode number: an FS reports a failure only to those that
	// have the file open. A COMMIT that opens it later must see the changed verifier.
	locks [64]sync.Mutex
}

// newVerf changes the write verifier. Clients then send again all data that is not committed
// (RFC 1813 §3.3.7).
func (s *storage) newVerf() {
	var verf nfs3.WriteVerf
	_, _ = rand.Read(verf[:]) // never fails
	s.verf.Store(&verf)
}

// store waits until a file or directory is on the disk. After a failure the system may have
// discarded data of UNSTABLE WRITEs, so the verifier changes.
func (s *storage) store(f vfs.File) error {
	a, err := f.Attr()
	if err != nil {
		return err
	}
	lock := &s.locks[a.Ino%uint64(len(s.locks))]
	lock.Lock()
	defer lock.Unlock()
	if err = s.sync(f); err != nil {
		s.newVerf()
	}
	return err
}

// willChange opens the directories that a call is going to change, so that they can be stored
// afterwards. This comes before the change, because a call that is answered with an error must not
// have made it.
func (s *storage) willChange(c *caller, dirs ...object) error {
	if s.async {
		return nil
	}
	for _, o := range dirs {
		dir, err := o.node.Open(vfs.Read)
		if err != nil {
			return err
		}
		c.changed = append(c.changed, dir)
	}
	return nil
}

// willStore opens a new object to store it, if it is a file.
func (s *storage) willStore(c *caller, o object) error {
	if s.async || o.attr.Type != nfs3.FileTypeReg {
		return nil
	}
	f, err := o.open(vfs.Write | vfs.Force)
	if err == nil {
		c.changed = append(c.changed, f)
	}
	return err
}

// changedData opens a file whose attributes may have changed, to store it.
func (s *storage) changedData(c *caller, o object) error {
	if s.async || o.attr.Type != nfs3.FileTypeReg {
		return nil
	}
	if err := o.refresh(); err != nil { // the mode may have changed, too
		return err
	}
	f, err := o.open(vfs.Write | vfs.Force)
	if err == nil { // else its mode forbids the server's user
		c.changed = append(c.changed, f)
	}
	return nil
}

// storeChanged waits until the files and directories that a call has changed are on the disk, and
// closes them. It stores nothing if err, the result of the call, is an error. The caller holds no
// lock, so that other calls run while it waits.
func (s *storage) storeChanged(c *caller, err error) error {
	for _, f := range c.changed {
		if err == nil && !s.async {
			err = s.store(f)
		}
		err = errors.Join(err, f.Close())
	}
	return err
}
