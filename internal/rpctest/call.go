package rpctest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Again makes the same Call with another XID. The test ends if it fails.
func Again(t testing.TB, c oncrpc.Carrier, call *rdmaio.Call, xid uint32) {
	binary.BigEndian.PutUint32(call.Inline, xid)
	if _, err := c.Call(context.Background(), call); err != nil {
		t.Fatal(err)
	}
}

// SmallCall returns a Call of 128 bytes with memory for a reply of as many.
func SmallCall() *rdmaio.Call {
	call := NullCall(0, 128)
	call.ReplyBuf = make([]byte, 128)
	return call
}

// PlainRead is a READ without a place for the data.
func PlainRead(xid uint32, offset uint64, n int) *rdmaio.Call {
	c := ReadCall(xid, offset, make([]byte, n))
	c.Results = nil
	return c
}

var handle = []byte("a file handle of thirty-two byte")

// NullCall is a Call of n bytes, at least 40.
func NullCall(xid uint32, n int) *rdmaio.Call {
	e := CallHeader(xid, ProcNull)
	e.Buf = append(e.Buf, make([]byte, n-40)...)
	return &rdmaio.Call{Message: e.Message()}
}

// WriteCall asks to write data at an offset.
func WriteCall(xid uint32, offset uint64, data []byte) *rdmaio.Call {
	e := CallHeader(xid, ProcWrite)
	e.Opaque("", handle)
	e.Words(uint32(offset>>32), uint32(offset), uint32(len(data)), 2)
	e.Opaque(SiteWriteData, data)
	return &rdmaio.Call{Message: e.Message()}
}

// ReadCall reads from an offset as many bytes as fit into buf.
func ReadCall(xid uint32, offset uint64, buf []byte) *rdmaio.Call {
	e := CallHeader(xid, ProcRead)
	e.Opaque("", handle)
	e.Words(uint32(offset>>32), uint32(offset), uint32(len(buf)))
	return &rdmaio.Call{Message: e.Message(), Results: [][]byte{buf}}
}

// ReadReply gives the data of a READ's reply.
func ReadReply(r *rdmaio.Reply) ([]byte, error) {
	if len(r.Message) < 24+16+4 {
		return nil, fmt.Errorf("reply of %d bytes", len(r.Message))
	}
	d := xdr.NewDecoder(r.Message, &xdr.DecoderOptions{Alias: true})
	d.ReinsertInOrder([]xdr.Site{SiteReadData}, r.Items)
	d.Next(24 + 16)
	data, err := TakeData(d, SiteReadData)
	if err != nil {
		return nil, err
	}
	return data, d.Done()
}

// Writes makes a WRITE-like Call and checks the data received.
func Writes(t *testing.T, c *rdmaio.Conn, f *File) {
	t.Helper()
	data := rdmaiotest.Pattern(65536+3, 1) // with roundup
	reply, err := c.Call(context.Background(), WriteCall(0x11, 0, data))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(f.Data, data) {
		t.Error("the server has other data")
	}
	if want := 24 + 16; len(reply.Message) != want {
		t.Errorf("reply of %d bytes, want %d", len(reply.Message), want)
	}
}

// Reads makes a READ-like Call and checks the data received, and its place.
func Reads(t *testing.T, c *rdmaio.Conn, f *File) {
	t.Helper()
	f.Data = rdmaiotest.Pattern(50001, 2)
	const poison = 0xa5
	buf := bytes.Repeat([]byte{poison}, 65536)
	reply, err := c.Call(context.Background(), ReadCall(0x12, 1, buf))
	if err != nil {
		t.Fatal(err)
	}
	data, err := ReadReply(reply)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, f.Data[1:]) {
		t.Error("other data came")
	}
	if &data[0] != &buf[0] {
		t.Error("the data is not where the caller wants it: it was copied")
	}
	// R82, R83, R314: no byte after the requested ones changes, roundup included.
	if rest := bytes.Trim(buf[len(data):], "\xa5"); len(rest) != 0 {
		t.Errorf("%d bytes after the data were touched", len(rest))
	}
}

// ResultsCall is a Call with results of these sizes by chunk.
func ResultsCall(xid uint32, sizes ...int) *rdmaio.Call {
	c := BigCall(xid, 40)
	for _, n := range sizes {
		c.Results = append(c.Results, make([]byte, n))
	}
	return c
}

// BigCall is a Call of n bytes without items.
func BigCall(xid uint32, n int) *rdmaio.Call {
	return &rdmaio.Call{Message: rdmaio.Message{Inline: CallBytes(xid, n)}}
}
