package rpctest

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/runtime/xdr/codec"
)

// XID returns the XID of an RPC message.
func XID(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

// Whole returns the message as a decoder reads it: with its items, and their roundup, in place.
func Whole(m rdmaio.Message) (b []byte) {
	at := 0
	for _, it := range m.Items {
		b = append(b, m.Inline[at:it.Inline]...)
		at = it.Inline
		b = append(b, it.Data...)
		b = append(b, make([]byte, xdr.Padded(len(it.Data))-len(it.Data))...)
	}
	return append(b, m.Inline[at:]...)
}

// The procedures, and the places of their data.
const (
	ProcNull  = 0
	ProcRead  = 6
	ProcWrite = 7

	SiteReadData  xdr.Site = "READ3resok.data"
	SiteWriteData xdr.Site = "WRITE3args.data"
)

// Encoder encodes as an xdr.Encoder in reducing mode does.
type Encoder struct {
	Buf     []byte
	Items   []xdr.Item
	Removed int  // bytes that are out of line
	Reduce  bool // leave eligible data out of line
}

// Words appends words.
func (e *Encoder) Words(w ...uint32) {
	for _, v := range w {
		e.Buf = binary.BigEndian.AppendUint32(e.Buf, v)
	}
}

// Opaque appends a counted opaque, or leaves it out of line, where the site is not empty.
func (e *Encoder) Opaque(site xdr.Site, data []byte) {
	e.Words(uint32(len(data)))
	if e.Reduce && site != "" && len(data) > 0 {
		e.Items = append(e.Items, xdr.Item{Site: site, Position: uint64(len(e.Buf) + e.Removed), Inline: len(e.Buf), Data: data})
		e.Removed += xdr.Padded(len(data))
		return
	}
	e.Buf = append(e.Buf, data...)
	e.Buf = append(e.Buf, make([]byte, xdr.Padded(len(data))-len(data))...)
}

// Message returns the message.
func (e *Encoder) Message() rdmaio.Message { return rdmaio.Message{Inline: e.Buf, Items: e.Items} }

// CallHeader begins an RPC Call without credentials (RFC 5531 §9): 40 bytes.
func CallHeader(xid, proc uint32) *Encoder {
	e := &Encoder{Reduce: true}
	e.Words(xid, 0, 2, 100003, 3, proc, 0, 0, 0, 0)
	return e
}

// ReplyHeader begins an accepted, successful reply: 24 bytes.
func ReplyHeader(xid uint32) *Encoder {
	e := new(Encoder)
	e.Words(xid, 1, 0, 0, 0, 0)
	return e
}

// TakeData reads a counted opaque that may be out of line.
func TakeData(d *xdr.Decoder, site xdr.Site) ([]byte, error) {
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

// ReplyTo is a successful reply with no results to a Call.
func ReplyTo(call []byte) []byte {
	b := make([]byte, 24)
	copy(b, call[:4])
	b[7] = 1
	return b
}

// CallBytes is an RPC Call of n bytes, at least 40.
func CallBytes(xid uint32, n int) []byte {
	return append(CallHeader(xid, ProcNull).Buf, rdmaiotest.Pattern(n-40, uint64(xid))...)
}

// ReplyBytes is an RPC Reply of n bytes, at least 24.
func ReplyBytes(xid uint32, n int) []byte {
	return append(ReplyHeader(xid).Buf, rdmaiotest.Pattern(n-24, uint64(xid))...)
}

// Bytes returns an RPC message of n bytes, of type 0 for a Call or 1 for a Reply. It has no more of
// an RPC header.
func Bytes(xid, typ uint32, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	binary.BigEndian.PutUint32(b, xid)
	binary.BigEndian.PutUint32(b[4:], typ)
	return b
}
