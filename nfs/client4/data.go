package client4

import (
	"fmt"
	"io"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/internal/filedata"
	"github.com/rpcrdma/rpcrdma/nfs/nfs4"
)

// ReadAt reads len(p) bytes from an offset, with several READs in flight. Over RDMA the server
// places them in p. The error is io.EOF if the file ends before.
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
	c.answered = c.finish
	return c
}

// Commit implements filedata.Calls.
func (f calls) Commit() (filedata.Verifier, error) {
	var res *nfs42.CommitRes
	if err := f.with(f.ctx, "COMMIT", func(cmp *nfs4.Compound, _ nfs42.StateID) { res = cmp.Commit(0, 0) }); err != nil {
		return filedata.Verifier{}, err
	}
	return filedata.Verifier(res.OK.WriteVerf), nil
}

// sections of RFC 8881 have the rules of replies.
var sections = map[string]string{"READ": "18.22.3", "WRITE": "18.32.3", "COMMIT": "18.3.3"}

// Broken implements filedata.Calls.
func (f calls) Broken(op, found string) error {
	return fmt.Errorf("%s %q: %w", op, f.name, &nfs4.ProtocolError{Rule: found + " (RFC 8881 §" + sections[op] + ")"})
}

// call is memory for a READ or a WRITE. It implements filedata.Call.
type call struct {
	f        *File
	done     func(filedata.Result)
	answered func(error) // finish, bound once

	op      filedata.Op
	p       []byte
	off     int64
	cmp     nfs4.Compound
	memory  [1][]byte
	read    nfs42.ReadArgs
	write   nfs42.WriteArgs
	readOK  *nfs42.ReadRes
	writeOK *nfs42.WriteRes
}

// Do implements filedata.Call.
func (c *call) Do(op filedata.Op, p []byte, off int64) filedata.Result {
	c.op, c.p, c.off = op, p, off
	return c.result(c.f.withReused(c.f.ctx, op.String(), &c.cmp, c.add))
}

// Submit implements filedata.Call.
func (c *call) Submit(op filedata.Op, p []byte, off int64) {
	c.op, c.p, c.off = op, p, off
	c.cmp.Reset()
	c.cmp.PutFH(c.f.handle)
	c.add(&c.cmp, c.f.stateID())
	c.f.c.s.Submit(c.f.ctx, &c.cmp, c.answered)
}

// finish takes the end of a call that was submitted. One whose state ID the server has refused is
// made again, by a goroutine: the file may have another one.
func (c *call) finish(err error) {
	switch err = named(c.op.String(), c.f.name, err); {
	case err != nil && stale(err):
		go func() { c.done(c.Do(c.op, c.p, c.off)) }()
	case c.op == filedata.Read && len(c.p) > filedata.Inline:
		go c.end(err)
	default:
		c.end(err)
	}
}

// end reports the result of a call that was submitted.
func (c *call) end(err error) { c.done(c.result(err)) }

// add appends the READ or WRITE to a COMPOUND.
func (c *call) add(cmp *nfs4.Compound, id nfs42.StateID) {
	if c.op == filedata.Read {
		c.read = nfs42.ReadArgs{StateID: id, Offset: nfs42.Offset(c.off), Count: nfs42.Count(len(c.p))}
		c.memory[0] = c.p
		c.readOK, cmp.Results = cmp.Read(&c.read), c.memory[:]
		return
	}
	c.write = nfs42.WriteArgs{StateID: id, Offset: nfs42.Offset(c.off), Stable: nfs42.StableHowUnstable, Data: c.p}
	if c.op == filedata.Stored {
		c.write.Stable = nfs42.StableHowFileSync
	}
	c.writeOK = cmp.Write(&c.write)
}

// result returns the result of a call that is over, and gives up its memory. The data of a READ are
// in the caller's memory after it.
func (c *call) result(err error) filedata.Result {
	p := c.p
	c.p, c.memory[0], c.write.Data = nil, nil, nil
	if err != nil {
		return filedata.Result{Err: err}
	}
	if c.op != filedata.Read {
		ok := &c.writeOK.OK
		return filedata.Result{N: int(ok.Count), Stored: ok.Committed == nfs42.StableHowFileSync, Verf: filedata.Verifier(ok.WriteVerf)}
	}
	data := c.readOK.OK.Data
	if n := len(data); n > 0 && n <= len(p) && &data[0] != &p[0] { // not by RDMA
		copy(p, data)
	}
	c.readOK.OK.Data = nil
	return filedata.Result{N: len(data), EOF: c.readOK.OK.EOF}
}
