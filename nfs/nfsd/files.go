package nfsd

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"sync"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

const (
	maxData = 1 << 20 // bytes of one READ or WRITE
	// maxReply is the size in bytes of the longest results, which READ and listings have.
	maxReply = maxData + 64<<10
	maxFile  = math.MaxInt64 // bytes of a file; file systems have smaller limits
	// readOverhead is the largest size in bytes of a READ's reply without the data: RPC header,
	// status, attributes, count, eof, length and padding.
	readOverhead = rpc.ReplyHead + 4 + 4 + nfs3.AttrFixedSize + 4 + 4 + 4 + 3
)

// GetAttr implements nfs3rpc.Server.
func (s *Server) GetAttr(_ *rpc.Request, args *nfs3.GetAttrArgs, res *nfs3.GetAttrRes) error {
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.tree.object(&args.Object)
	res.Status, res.OK.ObjAttributes = status(err), o.attr
	return nil
}

// SetAttr implements nfs3rpc.Server.
func (s *Server) SetAttr(r *rpc.Request, args *nfs3.SetAttrArgs, res *nfs3.SetAttrRes) error {
	c, err := s.users.caller(r)
	if err != nil {
		return err
	}
	err = s.changeAttr(c, args, &res.OK.ObjWcc)
	res.Status, res.Fail.ObjWcc = status(s.stored.storeChanged(c, err)), res.OK.ObjWcc
	return nil
}

// changeAttr changes the attributes of a file, with the file's lock held.
func (s *Server) changeAttr(c *caller, args *nfs3.SetAttrArgs, wcc *nfs3.WccData) error {
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.tree.object(&args.Object)
	if err != nil {
		return err
	}
	lock := s.tree.inode(o.ino())
	lock.Lock()
	defer lock.Unlock()
	if err := o.refresh(); err != nil {
		return err
	}
	defer o.wcc(wcc)()
	switch {
	case s.cfg.ReadOnly:
		return failed(nfs3.StatusRofs)
	case args.Guard.Check && args.Guard.ObjCtime != o.attr.Ctime:
		return failed(nfs3.StatusNotSync) // RFC 1813 §3.3.2
	}
	if err := setAttr(c, o, &args.NewAttributes); err != nil {
		return err
	}
	return s.stored.changedData(c, o)
}

// Access implements nfs3rpc.Server.
func (s *Server) Access(r *rpc.Request, args *nfs3.AccessArgs, res *nfs3.AccessRes) error {
	c, err := s.users.caller(r)
	if err != nil {
		return err
	}
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.tree.object(&args.Object)
	if res.Status = status(err); err == nil {
		res.OK = nfs3.AccessResOK{ObjAttributes: o.after(), Access: args.Access & c.access(&o.attr, s.cfg.ReadOnly)}
	}
	return nil
}

// ReadLink implements nfs3rpc.Server.
func (s *Server) ReadLink(_ *rpc.Request, args *nfs3.ReadLinkArgs, res *nfs3.ReadLinkRes) error {
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.tree.object(&args.SymLink)
	if err == nil {
		res.OK.Attributes = o.after()
		res.Fail.Attributes = res.OK.Attributes
		if o.attr.Type != nfs3.FileTypeLnk {
			err = failed(nfs3.StatusInval)
		}
	}
	if err == nil {
		var to string
		to, err = o.node.ReadLink()
		res.OK.Path = nfs3.Path(to)
	}
	res.Status = status(err)
	return nil
}

// Read implements nfs3rpc.Server.
func (s *Server) Read(r *rpc.Request, args *nfs3.ReadArgs, res *nfs3.ReadRes) error {
	c, err := s.users.caller(r)
	if err != nil {
		return err
	}
	f, err := s.openData(c, &args.File, vfs.Read, &res.Fail.FileAttributes)
	if err == nil {
		defer f.Close()
		err = s.read(r, f, args, &res.OK)
	}
	res.Status = status(err)
	return nil
}

// openData opens the file of a handle to read or store its data. The tree is not locked afterwards.
func (s *Server) openData(c *caller, h *nfs3.Handle, access vfs.Access, attr *nfs3.PostOpAttr) (vfs.File, error) {
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.tree.object(h)
	if err != nil {
		return nil, err
	}
	*attr = o.after()
	right := mayRead
	if access != vfs.Read {
		right = mayWrite
	}
	if o.attr.Type == nfs3.FileTypeReg {
		if err := c.needData(&o.attr, right); err != nil {
			return nil, err
		}
	}
	if f, err := o.open(access); !errors.Is(err, fs.ErrPermission) {
		return f, err
	}
	lock := s.tree.inode(o.ino())
	lock.Lock()
	defer lock.Unlock()
	if err := o.refresh(); err != nil {
		return nil, err
	}
	return o.open(access | vfs.Force)
}

// read reads at most as much as the caller asks for and can receive, in memory that follows the
// size of the file.
func (s *Server) read(r *rpc.Request, f vfs.File, args *nfs3.ReadArgs, ok *nfs3.ReadResOK) error {
	a, err := f.Attr()
	if err != nil {
		return err
	}
	size := a.Size
	offset := min(uint64(args.Offset), size)
	count := min(uint64(args.Count), size-offset, maxData, readRoom(r))
	buf := s.buffers.get(int(count))
	r.AfterReply(func(error) { s.buffers.Put(buf) })
	n, err := f.ReadAt(*buf, int64(offset))
	if err != nil && err != io.EOF { // EOF: the file became shorter
		return err
	}
	if a, err = f.Attr(); err != nil {
		return err
	}
	*ok = nfs3.ReadResOK{
		FileAttributes: nfs3.PostOpAttr{AttributesFollow: true, Attributes: attrOf(&a)},
		Count:          nfs3.Count(n), EOF: offset+uint64(n) >= a.Size, Data: (*buf)[:n],
	}
	return nil
}

// readRoom returns how much data the caller can receive, in bytes. Over RDMA it is the memory that
// the client offers.
func readRoom(r *rpc.Request) uint64 {
	results, reply := r.Room()
	if len(results) > 0 && results[0] > 0 {
		return uint64(results[0])
	}
	return uint64(max(reply-readOverhead, 0))
}

// buffers is memory for READ, used again after the reply.
type buffers struct{ sync.Pool } // of *[]byte

func (b *buffers) get(n int) *[]byte {
	if buf, ok := b.Get().(*[]byte); ok && cap(*buf) >= n {
		*buf = (*buf)[:n]
		return buf
	}
	buf := make([]byte, n)
	return &buf
}

// Write implements nfs3rpc.Server.
func (s *Server) Write(r *rpc.Request, args *nfs3.WriteArgs, res *nfs3.WriteRes) error {
	c, err := s.users.caller(r)
	if err != nil {
		return err
	}
	ok := &res.OK
	ok.Verf = *s.stored.verf.Load() // before the write: a failure to store may come between
	f, err := s.write(c, args, ok)
	if f != nil {
		if err == nil && args.Stable != nfs3.StableHowUnstable && !s.cfg.Async {
			err = s.stored.store(f)
			ok.Committed = nfs3.StableHowFileSync
		}
		err = errors.Join(err, f.Close())
	}
	if s.cfg.Async {
		ok.Committed = args.Stable
	}
	res.Status, res.Fail.FileWcc = status(err), ok.FileWcc
	return nil
}

// write writes data, with the file's lock held, and returns the open file.
func (s *Server) write(c *caller, args *nfs3.WriteArgs, ok *nfs3.WriteResOK) (vfs.File, error) {
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.tree.object(&args.File)
	if err != nil {
		return nil, err
	}
	lock := s.tree.inode(o.ino())
	lock.Lock()
	defer lock.Unlock()
	if err := o.refresh(); err != nil {
		return nil, err
	}
	defer o.wcc(&ok.FileWcc)()
	switch {
	case s.cfg.ReadOnly:
		return nil, failed(nfs3.StatusRofs)
	case uint64(args.Count) != uint64(len(args.Data)) || !args.Stable.Valid():
		return nil, failed(nfs3.StatusInval)
	case uint64(args.Offset) > maxFile-uint64(len(args.Data)):
		return nil, failed(nfs3.StatusFbig)
	case o.attr.Type == nfs3.FileTypeReg:
		if err := c.needData(&o.attr, mayWrite); err != nil {
			return nil, err
		}
	}
	f, err := o.open(vfs.Write | vfs.Force)
	if err != nil || len(args.Data) == 0 {
		return f, err
	}
	if err := c.clearSetID(f, &o.attr); err != nil { // before, as a part of the data may be written
		return f, err
	}
	if _, err := f.WriteAt(args.Data, int64(args.Offset)); err != nil {
		return f, err
	}
	ok.Count = args.Count
	return f, nil
}

// Commit implements nfs3rpc.Server. It stores the whole file, which RFC 1813 §3.3.21 allows.
func (s *Server) Commit(r *rpc.Request, args *nfs3.CommitArgs, res *nfs3.CommitRes) error {
	c, err := s.users.caller(r)
	if err != nil {
		return err
	}
	var before nfs3.PostOpAttr
	f, err := s.openData(c, &args.File, vfs.Write, &before)
	if err == nil {
		err = errors.Join(s.stored.store(f), f.Close())
	}
	res.Status, res.Fail.FileWcc.After = status(err), before
	res.OK = nfs3.CommitResOK{FileWcc: res.Fail.FileWcc, Verf: *s.stored.verf.Load()}
	return nil
}
