package verbs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

// FloorClient makes calls over a connection that has the messages of rdmaio over rdmatcp. It has a
// slot for each concurrent call. Its Calls are complete but for the XID, and its memory needs no
// registration.
type FloorClient struct {
	floorEnd
	op    string
	shape Shape
	body  []byte
	calls []floorCall
	alone bool  // one call at a time: the caller reads the socket
	err   error // why the connection ended; set before done is closed
}

// floorCall is the call of a slot.
type floorCall struct {
	head   []byte // the message before body
	rpc    int    // where the RPC header begins in head
	body   []byte // in the message; nil: in the read list
	xid    uint32
	expect int    // length of the reply without the RPC-over-RDMA header
	reply  []byte // that
	data   []byte // the write chunk; nil: the reply has the data
	done   chan struct{}
}

// slotBits is the number of bits of an XID that are the slot.
const slotBits = 10

// DialFloor connects to ServeFloor, or to a server of rdmaio over rdmatcp that has the program of
// package transport, and checks that data arrives unchanged. It does Call, Write or Read.
func DialFloor(addr, op string, s Shape) (*FloorClient, error) {
	c, err := dialFloor(addr, op, s)
	if err == nil && s.Depth > 1 {
		c.alone = false
		go c.read()
	}
	return c, err
}

// dialFloor does so for a caller that reads the socket.
func dialFloor(addr, op string, s Shape) (*FloorClient, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &FloorClient{floorEnd: newFloorEnd(conn, s), op: op, shape: s, body: Pattern(s.Size), alone: true}
	c.id = rand.Uint64()
	for slot := range s.Depth {
		c.calls = append(c.calls, c.prepare(slot))
	}
	if err := c.start(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// start makes the connection and checks it.
func (c *FloorClient) start() error {
	if err := c.hello(); err != nil {
		return err
	}
	id, err := c.greeted()
	if err == nil && id != c.id {
		err = fmt.Errorf("found Connection ID %#x, expected %#x", id, c.id)
	}
	if err == nil {
		err = c.check()
	}
	return err
}

// prepare returns the call of a slot. Its data chunk has the slot, plus one, as handle.
func (c *FloorClient) prepare(slot int) floorCall {
	call := floorCall{expect: replyHead + 4, done: make(chan struct{}, 1)}
	n := uint32(c.shape.Size)
	chunk := remote{handle: uint32(slot + 1), length: n}
	h := floorHeader{credits: uint32(max(c.shape.Depth, 32))}
	var rpc []byte
	switch c.op {
	case Call:
		rpc, call.body, call.expect = appendCall(nil, 0, procEcho), c.body, replyHead+len(c.body)
	case Write:
		rpc = appendCall(nil, 0, procSink, n)
		if rdmaHead+len(rpc)+len(c.body) <= inlineSize {
			call.body = c.body
		} else {
			h.read, h.position = chunk, uint32(len(rpc))
		}
	case Read:
		rpc = appendCall(nil, 0, procFill, n)
		if fitsInline(n) {
			call.expect += len(c.body)
		} else {
			h.write, call.data = chunk, make([]byte, n)
		}
	}
	call.head = h.append(nil)
	call.rpc = len(call.head)
	call.head = append(call.head, rpc...)
	call.reply = make([]byte, 0, call.expect)
	return call
}

// fitsInline reports whether n octets of data, without roundup, fit a reply.
func fitsInline(n uint32) bool { return n%4 == 0 && rdmaHead+replyHead+4+int64(n) <= inlineSize }

// check makes a call in the first slot, and checks that its data arrived unchanged.
func (c *FloorClient) check() error {
	call := &c.calls[0]
	proc := call.head[call.rpc+20:]
	if c.op == Write {
		binary.BigEndian.PutUint32(proc, procSum)
		defer binary.BigEndian.PutUint32(proc, procSink)
	}
	if err := c.exchange(0); err != nil {
		return err
	}
	got, want := call.reply[replyHead:], c.body
	switch c.op {
	case Write:
		want = binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(c.body))
	case Read:
		if got = call.data; got == nil {
			got = call.reply[replyHead+4:]
		}
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s: found data that differs from the data sent", c.op)
	}
	return nil
}

// Call makes a call in a slot. There are Shape.Depth slots, and each has one call at a time.
func (c *FloorClient) Call(slot int) error {
	if err := c.exchange(slot); err != nil {
		return err
	}
	if n := binary.BigEndian.Uint32(c.calls[slot].reply[replyHead:]); c.op != Call && int(n) != c.shape.Size {
		return fmt.Errorf("%s: found %d octets moved, expected %d", c.op, n, c.shape.Size)
	}
	return nil
}

// exchange sends the Call of a slot and waits for a reply of the right length.
func (c *FloorClient) exchange(slot int) error {
	call := &c.calls[slot]
	c.queueCall(call, slot)
	if err := c.w.flush(!c.alone); err != nil {
		return err
	}
	if c.alone {
		for answered, err := -1, error(nil); answered != slot; {
			if answered, err = c.step(); err != nil {
				return err
			}
		}
	} else if _, ok := <-call.done; !ok {
		return c.err
	}
	return c.expected(call)
}

// queueCall queues the Call of a slot.
func (c *FloorClient) queueCall(call *floorCall, slot int) {
	call.xid = (call.xid>>slotBits+1)<<slotBits | uint32(slot)
	binary.BigEndian.PutUint32(call.head, call.xid)
	binary.BigEndian.PutUint32(call.head[call.rpc:], call.xid)
	c.w.queue(func(b *batch) { c.send(b, call.head, call.body) })
}

// expected returns an error if the reply has the wrong length.
func (c *FloorClient) expected(call *floorCall) error {
	if len(call.reply) != call.expect {
		return fmt.Errorf("%s: found a reply of %d octets, expected %d", c.op, len(call.reply), call.expect)
	}
	return nil
}

// read receives until the connection ends. Then calls in progress and later calls fail.
func (c *FloorClient) read() {
	defer c.conn.Close()
	for {
		slot, err := c.step()
		if err != nil {
			c.err = err
			for i := range c.calls {
				close(c.calls[i].done)
			}
			return
		}
		if slot >= 0 {
			c.calls[slot].done <- struct{}{}
		}
	}
}

// step receives a segment. It returns the slot of the call that was answered, or -1.
func (c *FloorClient) step() (slot int, err error) {
	m, err := c.receive(c.target)
	if err != nil {
		return -1, err
	}
	slot = -1
	switch c.h.Type {
	case segment.Send:
		slot, err = c.replied(m)
	case segment.ReadRequest:
		err = c.respond()
	}
	return slot, err
}

// replied copies the reply m to its slot.
func (c *FloorClient) replied(m []byte) (slot int, err error) {
	var h floorHeader
	if m, err = h.parse(m); err != nil {
		return -1, err
	}
	slot = int(h.xid & (1<<slotBits - 1))
	if slot >= len(c.calls) || h.xid != c.calls[slot].xid {
		return -1, fmt.Errorf("found a reply with XID %#x, which no call has", h.xid)
	}
	call := &c.calls[slot]
	call.reply = append(call.reply[:0], m[:min(len(m), cap(call.reply))]...)
	return slot, nil
}

// target returns the memory of a Write's segment.
func (c *FloorClient) target() ([]byte, error) {
	slot := int64(c.h.BufferID) - 1
	if slot < 0 || slot >= int64(len(c.calls)) || c.h.Type != segment.Write {
		return nil, fmt.Errorf("found a %v to handle %#x, expected a Write to one of 1 to %d", c.h.Type, c.h.BufferID, len(c.calls))
	}
	return c.cut(c.calls[slot].data, 0)
}

// respond queues the data that a Read Request asks for.
func (c *FloorClient) respond() error {
	from, n := uint64(c.h.Offset), uint64(c.h.RDMALength)
	if from+n > uint64(len(c.body)) {
		return fmt.Errorf("found a Read of %d octets at %#x, expected at most %d", n, from, len(c.body))
	}
	h := segment.Header{Type: segment.ReadResponse, Order: segment.NoOrder, Number: c.h.Number}
	return c.transfer(h, c.body[from:][:n])
}

// Close closes the connection. Calls in progress fail.
func (c *FloorClient) Close() error { return c.conn.Close() }
