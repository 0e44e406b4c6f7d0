package rpctest

import (
	"encoding/binary"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ReadChunkFile answers READs even without a write chunk: data that does not fit inline is offered
// as read chunks.
type ReadChunkFile struct {
	File
	Sent chan error // if not nil: gets the result of each reply
}

// ServeRPC implements rdmaio.Handler.
func (l *ReadChunkFile) ServeRPC(r *rdmaio.Request) {
	m := l.Serve(r)
	if len(WriteChunks(r)) == 0 && binary.BigEndian.Uint32(r.Message[20:]) == ProcRead {
		// The encoder leaves data out of line only where there are places: cut it out by hand.
		const head = 24 + 16
		n := int(binary.BigEndian.Uint32(m.Inline[head:]))
		e := ReplyHeader(binary.BigEndian.Uint32(m.Inline))
		e.Reduce = true
		e.Buf = append(e.Buf, m.Inline[24:head]...)
		e.Opaque(SiteReadData, m.Inline[head+4:head+4+n])
		m = e.Message()
	}
	r.Reply(m, func(err error) {
		if l.Sent != nil {
			l.Sent <- err
		}
	})
}

// File is a handler that serves READ and WRITE of one file in memory.
type File struct {
	T    testing.TB
	mu   sync.Mutex // guards Data while Calls are in progress
	Data []byte
}

// ServeRPC implements rdmaio.Handler.
func (f *File) ServeRPC(r *rdmaio.Request) { r.Reply(f.Serve(r), nil) }

// Serve returns the reply to a Request.
func (f *File) Serve(r *rdmaio.Request) rdmaio.Message {
	m := r.Message
	word := func(at int) uint32 { return binary.BigEndian.Uint32(m[at:]) }
	e := ReplyHeader(word(0))
	const args = 40 + 4 + 32 // after the file handle
	switch word(20) {
	case ProcWrite:
		n, off := int(word(args+8)), int(word(args+4))
		data := m[args+20:]
		if int(word(args+16)) != n || len(data) != xdr.Padded(n) {
			f.T.Errorf("WRITE of %d bytes has %d", n, len(data))
		}
		for _, p := range r.Placed {
			if p.Position != args+20 || len(p.Data) != n || &p.Data[0] != &data[0] {
				f.T.Errorf("item of %d bytes at %d, want %d at %d", len(p.Data), p.Position, n, args+20)
			}
		}
		f.mu.Lock()
		f.Data = append(f.Data[:off], data[:n]...)
		f.mu.Unlock()
		e.Words(0, 0, uint32(n), 2)
	case ProcRead:
		off, n := int(word(args+4)), int(word(args+8))
		f.mu.Lock()
		part := f.Data[min(off, len(f.Data)):min(off+n, len(f.Data))]
		f.mu.Unlock()
		e.Reduce = len(WriteChunks(r)) > 0
		e.Words(0, 0, uint32(len(part)), 1)
		e.Opaque(SiteReadData, part)
	}
	return e.Message()
}
