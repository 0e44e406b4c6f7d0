package rdmaio_test

import (
	"encoding/binary"
	"fmt"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/codec"
)

// This file is an upper layer: NFS version 3's READ and WRITE (RFC 1813 §3.3.6,
// §3.3.7), over one file in memory, encoded by hand in the way of generated code. The data of both
// is eligible for reduction (RFC 8267 §2).

const (
	procNull  = 0
	procRead  = 6
	procWrite = 7

	siteReadData  xdr.Site = "READ3resok.data"
	siteWriteData xdr.Site = "WRITE3args.data"
)

// enc is an encoder in the way of xdr.Encoder in reducing mode.
type enc struct {
	buf     []byte
	items   []xdr.Item
	removed int
	reduce  bool // leave eligible data out of line
}

func (e *enc) words(w ...uint32) {
	for _, v := range w {
		e.buf = binary.BigEndian.AppendUint32(e.buf, v)
	}
}

// opaque appends a counted opaque, or leaves it out of line, where the site is not empty.
func (e *enc) opaque(site xdr.Site, data []byte) {
	e.words(uint32(len(data)))
	if e.reduce && site != "" && len(data) > 0 {
		e.items = append(e.items, xdr.Item{Site: site, Position: uint64(len(e.buf) + e.removed), Inline: len(e.buf), Data: data})
		e.removed += xdr.Padded(len(data))
		return
	}
	e.buf = append(e.buf, data...)
	e.buf = append(e.buf, make([]byte, xdr.Padded(len(data))-len(data))...)
}

func (e *enc) message() rdmaio.Message { return rdmaio.Message{Inline: e.buf, Items: e.items} }

// callHeader begins an RPC Call without credentials (RFC 5531 §9): 40 bytes.
func callHeader(xid, proc uint32) *enc {
	e := &enc{reduce: true}
	e.words(xid, 0, 2, 100003, 3, proc, 0, 0, 0, 0)
	return e
}

// replyHeader begins an accepted, successful reply: 24 bytes.
func replyHeader(xid uint32) *enc {
	e := new(enc)
	e.words(xid, 1, 0, 0, 0, 0)
	return e
}

var handle = []byte("a file handle of thirty-two byte")

// nullCall is a Call of n bytes, at least 40.
func nullCall(xid uint32, n int) *rdmaio.Call {
	e := callHeader(xid, procNull)
	e.buf = append(e.buf, make([]byte, n-40)...)
	return &rdmaio.Call{Message: e.message()}
}

// writeCall asks to write data at an offset.
func writeCall(xid uint32, offset uint64, data []byte) *rdmaio.Call {
	e := callHeader(xid, procWrite)
	e.opaque("", handle)
	e.words(uint32(offset>>32), uint32(offset), uint32(len(data)), 2)
	e.opaque(siteWriteData, data)
	return &rdmaio.Call{Message: e.message()}
}

// readCall reads from an offset as many bytes as fit into buf.
func readCall(xid uint32, offset uint64, buf []byte) *rdmaio.Call {
	e := callHeader(xid, procRead)
	e.opaque("", handle)
	e.words(uint32(offset>>32), uint32(offset), uint32(len(buf)))
	return &rdmaio.Call{Message: e.message(), Results: [][]byte{buf}}
}

// takeData reads a counted opaque that may be out of line.
func takeData(d *xdr.Decoder, site xdr.Site) ([]byte, error) {
	count, err := d.Next(4)
	if err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(count))
	if codec.Reinserts(d) {
		data, ok, err := codec.Take(d, site, d.Offset(), n)
		if err != nil {
			return nil, err
		}
		if ok {
			return data, nil
		}
	}
	b, err := d.Next(xdr.Padded(n))
	if err != nil {
		return nil, err
	}
	return b[:n], nil
}

// readReply gives the data of a READ's reply.
func readReply(r *rdmaio.Reply) ([]byte, error) {
	if len(r.Message) < 24+16+4 {
		return nil, fmt.Errorf("reply of %d bytes", len(r.Message))
	}
	d := xdr.NewDecoder(r.Message, &xdr.DecoderOptions{Alias: true})
	d.ReinsertInOrder([]xdr.Site{siteReadData}, r.Items)
	d.Next(24 + 16)
	data, err := takeData(d, siteReadData)
	if err != nil {
		return nil, err
	}
	return data, d.Done()
}

// file is the server's.
type file struct {
	t    testing.TB
	mu   sync.Mutex
	data []byte
}

// ServeRPC implements rdmaio.Handler.
func (f *file) ServeRPC(r *rdmaio.Request) { r.Reply(f.serve(r), nil) }

func (f *file) serve(r *rdmaio.Request) rdmaio.Message {
	m := r.Message
	word := func(at int) uint32 { return binary.BigEndian.Uint32(m[at:]) }
	e := replyHeader(word(0))
	const args = 40 + 4 + 32 // behind the file handle
	switch word(20) {
	case procWrite:
		n, off := int(word(args+8)), int(word(args+4))
		data := m[args+20:]
		if int(word(args+16)) != n || len(data) != xdr.Padded(n) {
			f.t.Errorf("WRITE of %d bytes has %d", n, len(data))
		}
		for _, p := range r.Placed {
			if p.Position != args+20 || len(p.Data) != n || &p.Data[0] != &data[0] {
				f.t.Errorf("item of %d bytes at %d, want %d at %d", len(p.Data), p.Position, n, args+20)
			}
		}
		f.mu.Lock()
		f.data = append(f.data[:off], data[:n]...)
		f.mu.Unlock()
		e.words(0, 0, uint32(n), 2)
	case procRead:
		off, n := int(word(args+4)), int(word(args+8))
		f.mu.Lock()
		part := f.data[min(off, len(f.data)):min(off+n, len(f.data))]
		f.mu.Unlock()
		e.reduce = len(writeChunks(r)) > 0
		e.words(0, 0, uint32(len(part)), 1)
		e.opaque(siteReadData, part)
	}
	return e.message()
}
