package nfsd

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
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
	o, err := s.object(&args.Object)
	res.Status, res.OK.ObjAttributes = status(err), o.attr
	return nil
}

// SetAttr implements nfs3rpc.Server.
func (s *Server) SetAttr(r *rpc.Request, args *nfs3.SetAttrArgs, res *nfs3.SetAttrRes) error {
	c, err := s.caller(r)
	if err != nil {
		return err
	}
	s.tree.RLock()
	err = s.changeAttr(c, args, &res.OK.ObjWcc)
	s.tree.RUnlock()
	res.Status, res.Fail.ObjWcc = status(s.storeChanged(c, err)), res.OK.ObjWcc
	return nil
}

// changeAttr changes the attributes of a file, with the file's lock held.
func (s *Server) changeAttr(c *caller, args *nfs3.SetAttrArgs, wcc *nfs3.WccData) error {
	o, err := s.object(&args.Object)
	if err != nil {
		return err
	}
	lock := s.inode(o.ino())
	lock.Lock()
	defer lock.Unlock()
	if err := s.refresh(&o); err != nil {
		return err
	}
	defer s.wcc(o, wcc)()
	switch {
	case s.cfg.ReadOnly:
		return failed(nfs3.StatusRofs)
	case args.Guard.Check && args.Guard.ObjCtime != o.attr.Ctime:
		return failed(nfs3.StatusNotSync) // RFC 1813 §3.3.2
	}
	if err := s.setAttr(c, o, &args.NewAttributes); err != nil {
		return err
	}
	return s.changedData(c, o)
}

// changedData opens a file whose attributes may have changed, to store it.
func (s *Server) changedData(c *caller, o object) error {
	if s.cfg.Async || o.attr.Type != nfs3.FileTypeReg {
		return nil
	}
	if err := s.refresh(&o); err != nil { // the mode may have changed, too
		return err
	}
	if f, err := s.open(o, os.O_WRONLY); err == nil { // else its mode forbids the server's user
		c.changed = append(c.changed, f)
	}
	return nil
}

// Access implements nfs3rpc.Server.
func (s *Server) Access(r *rpc.Request, args *nfs3.AccessArgs, res *nfs3.AccessRes) error {
	c, err := s.caller(r)
	if err != nil {
		return err
	}
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.object(&args.Object)
	if res.Status = status(err); err == nil {
		res.OK = nfs3.AccessResOK{ObjAttributes: o.after(), Access: args.Access & c.access(&o.attr, s.cfg.ReadOnly)}
	}
	return nil
}

// ReadLink implements nfs3rpc.Server.
func (s *Server) ReadLink(_ *rpc.Request, args *nfs3.ReadLinkArgs, res *nfs3.ReadLinkRes) error {
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.object(&args.SymLink)
	if err == nil {
		res.OK.Attributes = o.after()
		res.Fail.Attributes = res.OK.Attributes
		if o.attr.Type != nfs3.FileTypeLnk {
			err = failed(nfs3.StatusInval)
		}
	}
	if err == nil {
		var to string
		to, err = s.root.Readlink(o.path)
		res.OK.Path = nfs3.Path(to)
	}
	res.Status = status(err)
	return nil
}

// Read implements nfs3rpc.Server.
func (s *Server) Read(r *rpc.Request, args *nfs3.ReadArgs, res *nfs3.ReadRes) error {
	c, err := s.caller(r)
	if err != nil {
		return err
	}
	f, err := s.openData(c, &args.File, os.O_RDONLY, &res.Fail.FileAttributes)
	if err == nil {
		defer f.Close()
		err = s.read(r, f, args, &res.OK)
	}
	res.Status = status(err)
	return nil
}

// openData opens the file of a handle to read or store its data. The tree is not locked afterwards.
func (s *Server) openData(c *caller, h *nfs3.Handle, flag int, attr *nfs3.PostOpAttr) (*os.File, error) {
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.object(h)
	if err != nil {
		return nil, err
	}
	*attr = o.after()
	right := mayRead
	if flag != os.O_RDONLY {
		right = mayWrite
	}
	if o.attr.Type == nfs3.FileTypeReg {
		if err := c.needData(&o.attr, right); err != nil {
			return nil, err
		}
	}
	if f, err := s.openAsIs(o, flag); !errors.Is(err, fs.ErrPermission) {
		return f, err
	}
	lock := s.inode(o.ino())
	lock.Lock()
	defer lock.Unlock()
	if err := s.refresh(&o); err != nil {
		return nil, err
	}
	return s.open(o, flag)
}

// read reads at most as much as the caller asks for and can receive, in memory that follows the
// size of the file.
func (s *Server) read(r *rpc.Request, f *os.File, args *nfs3.ReadArgs, ok *nfs3.ReadResOK) error {
	st, err := fstat(f)
	if err != nil {
		return err
	}
	size := uint64(st.attr.Size)
	offset := min(uint64(args.Offset), size)
	count := min(uint64(args.Count), size-offset, maxData, readRoom(r))
	buf := s.buffer(int(count))
	r.AfterReply(func(error) { s.buffers.Put(buf) })
	n, err := f.ReadAt(*buf, int64(offset))
	if err != nil && err != io.EOF { // EOF: the file became shorter
		return err
	}
	if st, err = fstat(f); err != nil {
		return err
	}
	*ok = nfs3.ReadResOK{
		FileAttributes: st.after(), Count: nfs3.Count(n), EOF: offset+uint64(n) >= uint64(st.attr.Size), Data: (*buf)[:n],
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

// buffer returns memory for READ, used again after the reply.
func (s *Server) buffer(n int) *[]byte {
	if buf, ok := s.buffers.Get().(*[]byte); ok && cap(*buf) >= n {
		*buf = (*buf)[:n]
		return buf
	}
	buf := make([]byte, n)
	return &buf
}

// Write implements nfs3rpc.Server.
func (s *Server) Write(r *rpc.Request, args *nfs3.WriteArgs, res *nfs3.WriteRes) error {
	c, err := s.caller(r)
	if err != nil {
		return err
	}
	ok := &res.OK
	ok.Verf = *s.verf.Load() // of the time before the write: a failure to store may come between
	f, err := s.write(c, args, ok)
	if f != nil {
		if err == nil && args.Stable != nfs3.StableHowUnstable && !s.cfg.Async {
			err = s.store(f)
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
func (s *Server) write(c *caller, args *nfs3.WriteArgs, ok *nfs3.WriteResOK) (*os.File, error) {
	s.tree.RLock()
	defer s.tree.RUnlock()
	o, err := s.object(&args.File)
	if err != nil {
		return nil, err
	}
	lock := s.inode(o.ino())
	lock.Lock()
	defer lock.Unlock()
	if err := s.refresh(&o); err != nil {
		return nil, err
	}
	defer s.wcc(o, &ok.FileWcc)()
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
	f, err := s.open(o, os.O_WRONLY)
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
	c, err := s.caller(r)
	if err != nil {
		return err
	}
	var before nfs3.PostOpAttr
	f, err := s.openData(c, &args.File, os.O_WRONLY, &before)
	if err == nil {
		err = errors.Join(s.store(f), f.Close())
	}
	res.Status, res.Fail.FileWcc.After = status(err), before
	res.OK = nfs3.CommitResOK{FileWcc: res.Fail.FileWcc, Verf: *s.verf.Load()}
	return nil
}
