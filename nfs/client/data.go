package client

import (
	"fmt"
	"io"
	"sync"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/internal/filedata"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// readHead is the largest size of a READ's reply without the data: RPC header, status, attributes,
// count, eof, length and padding.
const readHead = rpc.ReplyHead + 4 + 4 + nfs3.AttrFixedSize + 4 + 4 + 4 + 3

// ReadAt reads len(p) bytes from an offset, with several READs in flight. The server places them in
// p by RDMA. The error is io.EOF if the file ends before.
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.data.ReadAt(p, off) }

// WriteAt writes p at an offset, with several WRITEs in flight. The data may be lost with the
// server until Sync or Close has returned. Until then the File keeps a copy, of Config.Window bytes
// at most.
func (f *File) WriteAt(p []byte, off int64) (int, error) { return f.data.WriteAt(p, off) }

// CopyTo writes n bytes from an offset of the file to w, in order, with several READs in flight. It
// returns the number of bytes written to w. The error is io.ErrUnexpectedEOF if the file ends
// before.
func (f *File) CopyTo(w io.Writer, off, n int64) (int64, error) { return f.data.CopyTo(w, off, n) }

// CopyFrom writes n bytes from an offset of src to the same offset of the file, with several
// WRITEs in flight, and commits them. src is read again if the server has restarted, so the bytes
// must not change. If stored is not nil, it is called after each COMMIT with the offset up to which
// the data are stored.
func (f *File) CopyFrom(src io.ReaderAt, off, n int64, stored func(upTo int64) error) error {
	return f.data.CopyFrom(src, off, n, stored)
}

// Sync waits until the written data are stored.
func (f *File) Sync() error { return f.data.Sync() }

// calls makes the calls of a File.
type calls struct{ *File }

// New implements filedata.Calls.
func (f calls) New(done func(filedata.Result)) filedata.Call {
	c := &call{f: f.File, done: done}
	c.read.File, c.write.File = f.handle, f.handle
	c.answered = c.finish
	return c
}

// Commit implements filedata.Calls.
func (f calls) Commit() (filedata.Verifier, error) {
	args, res := nfs3.CommitArgs{File: f.handle}, nfs3.CommitRes{}
	err := f.c.do(f.ctx, "COMMIT", f.name, &res.Status, func() error { return f.c.nfs.CommitInto(f.ctx, &args, &res, nil) })
	return filedata.Verifier(res.OK.Verf), err
}

// sections of RFC 1813 have the rules of replies.
var sections = map[string]string{"READ": "3.3.6", "WRITE": "3.3.7", "COMMIT": "3.3.21"}

// Broken implements filedata.Calls.
func (f calls) Broken(op, found string) error {
	return &ProtocolError{Op: op, Name: f.name, Rule: "found " + found + " (RFC 1813 §" + sections[op] + ")"}
}

// call is memory for a READ or a WRITE. It implements filedata.Call.
type call struct {
	f        *File
	done     func(filedata.Result)
	answered func(error) // finish, bound once

	op       filedata.Op
	read     nfs3.ReadArgs
	readRes  nfs3.ReadRes
	write    nfs3.WriteArgs
	writeRes nfs3.WriteRes
	opt      rpc.Options
	results  [1][]byte
}

// Do implements filedata.Call.
func (c *call) Do(op filedata.Op, p []byte, off int64) filedata.Result {
	c.prepare(op, p, off)
	err := c.f.c.do(c.f.ctx, op.String(), c.f.name, c.status(), c.wait)
	return c.result(err)
}

// wait makes the call once.
func (c *call) wait() error {
	if c.op == filedata.Read {
		return c.f.c.nfs.ReadInto(c.f.ctx, &c.read, &c.readRes, &c.opt)
	}
	return c.f.c.nfs.WriteInto(c.f.ctx, &c.write, &c.writeRes, nil)
}

// Submit implements filedata.Call.
func (c *call) Submit(op filedata.Op, p []byte, off int64) {
	c.prepare(op, p, off)
	var err error
	if op == filedata.Read {
		err = c.f.c.nfs.ReadSubmit(c.f.ctx, &c.read, &c.readRes, &c.opt, c.answered)
	} else {
		err = c.f.c.nfs.WriteSubmit(c.f.ctx, &c.write, &c.writeRes, nil, c.answered)
	}
	if err != nil {
		c.finish(err)
	}
}

// finish takes the end of a call that was submitted. One that must be made again later has a
// goroutine.
func (c *call) finish(err error) {
	if err = c.f.c.judge(c.op.String(), c.f.name, *c.status(), err); refused(err, nfs3.StatusJukebox) {
		go c.again(err)
		return
	}
	if len(c.opt.ReplyBuf) > filedata.Inline {
		go c.end(err)
		return
	}
	c.end(err)
}

// end reports the result of a call that was submitted.
func (c *call) end(err error) { c.done(c.result(err)) }

// again makes a call again that the server has refused for now.
func (c *call) again(refusal error) {
	cl := c.f.c
	err := later(c.f.ctx, cl.cfg.RetryPause, refusal)
	if err == nil {
		err = cl.do(c.f.ctx, c.op.String(), c.f.name, c.status(), c.wait)
	}
	c.done(c.result(err))
}

// prepare sets the arguments.
func (c *call) prepare(op filedata.Op, p []byte, off int64) {
	if c.op = op; op == filedata.Read {
		c.readRes = nfs3.ReadRes{}
		c.read.Offset, c.read.Count = nfs3.Offset(off), nfs3.Count(len(p))
		c.results[0] = p
		c.opt = rpc.Options{Results: c.results[:], ReplyBuf: c.f.c.replies.get(len(p))}
		return
	}
	c.writeRes = nfs3.WriteRes{}
	c.write.Offset, c.write.Count, c.write.Data = nfs3.Offset(off), nfs3.Count(len(p)), p
	if c.write.Stable = nfs3.StableHowUnstable; op == filedata.Stored {
		c.write.Stable = nfs3.StableHowFileSync
	}
}

// status returns the place of the status.
func (c *call) status() *nfs3.Status {
	if c.op == filedata.Read {
		return &c.readRes.Status
	}
	return &c.writeRes.Status
}

// result returns the result of a call that is over, and gives up its memory.
func (c *call) result(err error) filedata.Result {
	if c.op != filedata.Read {
		ok := &c.writeRes.OK
		c.write.Data = nil
		return filedata.Result{N: int(ok.Count), Stored: ok.Committed == nfs3.StableHowFileSync, Verf: filedata.Verifier(ok.Verf), Err: err}
	}
	r := filedata.Result{Err: err}
	if err == nil {
		r = c.placed()
	}
	c.f.c.replies.put(c.opt.ReplyBuf)
	c.readRes, c.results[0], c.opt = nfs3.ReadRes{}, nil, rpc.Options{}
	return r
}

// placed returns the result of a READ, whose data are in the caller's memory after it. eof counts
// only with no data: some servers set it too early.
func (c *call) placed() filedata.Result {
	ok, attr, p := &c.readRes.OK, &c.readRes.OK.FileAttributes, c.results[0]
	r := filedata.Result{N: len(ok.Data), EOF: ok.EOF && len(ok.Data) == 0}
	switch end := uint64(c.read.Offset); {
	case r.N != int(ok.Count):
		r.Err = calls{c.f}.Broken("READ", fmt.Sprintf("%d bytes and count %d, expected at most the %d asked for", r.N, ok.Count, len(p)))
	case r.EOF && attr.AttributesFollow && end < uint64(attr.Attributes.Size):
		r.Err = calls{c.f}.Broken("READ", fmt.Sprintf("the end of the file at byte %d of %d", end, attr.Attributes.Size))
	case r.N > 0 && r.N <= len(p) && &ok.Data[0] != &p[0]: // not by RDMA
		copy(p, ok.Data)
	}
	return r
}

// replies has memory for the replies of READs, for a carrier that does not place data in Results:
// without it each reply would take fresh memory, and the garbage collector more time than the copy.
type replies struct {
	use  bool
	pool sync.Pool // of *[]byte
}

// get returns memory for a reply with n bytes of data, or nil if the carrier needs none.
func (r *replies) get(n int) []byte {
	if !r.use {
		return nil
	}
	if b, ok := r.pool.Get().(*[]byte); ok && len(*b) >= n+readHead {
		return *b
	}
	return make([]byte, n+readHead)
}

// put takes the memory back.
func (r *replies) put(b []byte) {
	if b != nil {
		r.pool.Put(&b)
	}
}
