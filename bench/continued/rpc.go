package continued

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Lengths of an RPC header without credentials (RFC 5531 §9), and of the word after it: the length
// of the data, as in opaque<>.
const (
	callHead  = 40 + 4
	replyHead = 24 + 4
)

// The procedures. The first word of the arguments is the length of the data in either direction.
const (
	procSink  = 1 // takes data
	procWhole = 2 // returns data as a part of the message
	procItem  = 3 // returns data as an item
)

// handler answers Calls with as little work as possible.
type handler struct {
	answers sync.Pool // of *answer
}

// answer holds the memory of one reply, of the longest that there is.
type answer struct {
	buf   []byte
	items [1]xdr.Item
	done  func(error)
}

func newHandler(most int) *handler {
	h := &handler{}
	h.answers.New = func() any {
		a := &answer{buf: append(make([]byte, replyHead), pattern(most)...)}
		binary.BigEndian.PutUint32(a.buf[4:], 1) // a Reply; accepted and successful are zeros
		a.done = func(error) { h.answers.Put(a) }
		return a
	}
	return h
}

// ServeRPC implements rdmaio.Handler.
func (h *handler) ServeRPC(r *rdmaio.Request) {
	m := r.Message
	a := h.answers.Get().(*answer)
	n := min(int(binary.BigEndian.Uint32(m[callHead-4:])), len(a.buf)-replyHead)
	copy(a.buf[:4], m)
	binary.BigEndian.PutUint32(a.buf[replyHead-4:], uint32(n))
	reply := rdmaio.Message{Inline: a.buf[:replyHead]}
	switch binary.BigEndian.Uint32(m[20:]) {
	case procSink:
		binary.BigEndian.PutUint32(a.buf[replyHead-4:], uint32(len(m)-callHead))
	case procWhole:
		reply.Inline = a.buf[:replyHead+n]
	case procItem:
		a.items[0] = xdr.Item{Position: replyHead, Inline: replyHead, Data: a.buf[replyHead : replyHead+n]}
		reply.Items = a.items[:]
	}
	r.Reply(reply, a.done)
}

// client makes the Call of one case again and again.
type client struct {
	conn *rdmaio.Conn
	call rdmaio.Call
	got  []byte // where the data of a Reply arrives; nil: of a Call
	size int
	xid  *uint32 // of conn
}

// newClient returns a client whose long message goes in a way that conn can use.
func newClient(conn *rdmaio.Conn, xid *uint32, way string, size int) *client {
	c := &client{conn: conn, xid: xid, size: size}
	proc := uint32(procSink)
	c.call.ReplyBuf = make([]byte, replyHead)
	head := make([]byte, callHead, callHead+size)
	switch way {
	case WriteChunk:
		proc = procItem
		c.got = make([]byte, size)
		c.call.Results = [][]byte{c.got}
	case ReplyChunk:
		proc = procWhole
		c.call.ReplyBuf = make([]byte, replyHead+size)
		c.got = c.call.ReplyBuf[replyHead:]
	case ReadChunk:
		c.call.Items = []xdr.Item{{Position: callHead, Inline: callHead, Data: pattern(size)}}
	case LongChunk:
		head = append(head, pattern(size)...)
	}
	for i, w := range []uint32{0, 0, 2, 0x20200051, 1, proc} {
		binary.BigEndian.PutUint32(head[4*i:], w)
	}
	binary.BigEndian.PutUint32(head[callHead-4:], uint32(size))
	c.call.Inline = head
	return c
}

// do makes the Call n times.
func (c *client) do(n int) error {
	for range n {
		*c.xid++
		binary.BigEndian.PutUint32(c.call.Inline, *c.xid)
		r, err := c.conn.Call(context.Background(), &c.call)
		if err != nil {
			return err
		}
		if n := binary.BigEndian.Uint32(r.Message[replyHead-4:]); int(n) != c.size {
			return fmt.Errorf("found %d bytes moved, expected %d", n, c.size)
		}
	}
	return nil
}

// check makes the Call, and checks the data of the Reply.
func (c *client) check() error {
	if err := c.do(1); err != nil {
		return err
	}
	if c.got != nil && !bytes.Equal(c.got, pattern(c.size)) {
		return fmt.Errorf("the %d bytes received differ from the server's", c.size)
	}
	return nil
}

// pattern returns n bytes in which no two pages are equal.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}
