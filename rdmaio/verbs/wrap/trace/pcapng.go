package trace

import (
	"encoding/binary"
	"io"
	"sync"
	"time"
)

// Capture writes the messages of traced queue pairs as a pcapng file that stock
// Wireshark and tshark dissect down to RPC-over-RDMA and NFS. Nothing of the
// sort was on a wire: each queue pair gets an interface, named "device/qpN", with
// a TCP connection of its own in raw IPv4 packets, on which the messages
// stand as an iWARP stack would have sent them (RFC 5044, 5041, 5040), with
// lengths, numbers, checksums and CRC in order. The listener's port is 20049.
// Sends are written without the Solicited Event bit, because Wireshark dissects
// RPC-over-RDMA only in plain Sends; trace events have the bit.
//
// What is seen is what passes through the traced end: messages and Writes and
// Read requests when they are posted (so one that the provider then refuses is
// in the file too: Event tells), messages received and data read when their
// completion is polled. The peer's Writes and Reads happen without this end
// and are in the file only if the peer's device is traced as well, on its own
// interface.
//
// It keeps one packet, and for each queue pair the lists of posted Receives
// and Reads, at most 4096 of each. The payload of messages is in the file:
// treat it as what it is.
type Capture struct {
	mu     sync.Mutex
	w      io.Writer
	snap   int
	err    error
	ifaces uint32
	buf    []byte
}

// NewCapture begins a file. snap is how many bytes of each packet are kept, 0 for
// all; headers alone take about 80. Each packet is one Write to w; wrap it in a
// bufio.Writer where that matters. An error of w stops the file.
func NewCapture(w io.Writer, snap int) *Capture {
	c := &Capture{w: w, snap: snap}
	c.block(0x0a0d0d0a, func() {
		c.u32(0x1a2b3c4d)
		c.buf = append(c.buf, 1, 0, 0, 0) // version 1.0, in our byte order
		c.buf = append(c.buf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	})
	return c
}

// Err is the error that stopped the file, if one did.
func (c *Capture) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Capture) u32(v uint32) { c.buf = binary.LittleEndian.AppendUint32(c.buf, v) }

// pad fills up to four bytes.
func (c *Capture) pad() {
	for len(c.buf)%4 != 0 {
		c.buf = append(c.buf, 0)
	}
}

// block writes one block; body appends to buf.
func (c *Capture) block(typ uint32, body func()) {
	if c.err != nil {
		return
	}
	c.buf = c.buf[:0]
	c.u32(typ)
	c.u32(0) // length
	body()
	c.pad()
	n := uint32(len(c.buf) + 4)
	c.u32(n)
	binary.LittleEndian.PutUint32(c.buf[4:], n)
	_, c.err = c.w.Write(c.buf)
}

const linkRawIPv4 = 228

// addInterface describes a queue pair and gives its number.
func (c *Capture) addInterface(name string) uint32 {
	c.block(1, func() {
		c.u32(linkRawIPv4) // and two reserved bytes
		c.u32(uint32(c.snap))
		c.option(2, []byte(name)) // if_name
		c.option(9, []byte{9})    // if_tsresol: nanoseconds
		c.option(0, nil)
	})
	c.ifaces++
	return c.ifaces - 1
}

func (c *Capture) option(code uint16, value []byte) {
	c.buf = binary.LittleEndian.AppendUint16(c.buf, code)
	c.buf = binary.LittleEndian.AppendUint16(c.buf, uint16(len(value)))
	c.buf = append(c.buf, value...)
	c.pad()
}

// packet writes one packet of an interface.
func (c *Capture) packet(iface uint32, at time.Time, data []byte) {
	ns := uint64(0)
	if !at.IsZero() {
		ns = uint64(at.UnixNano())
	}
	kept := data
	if c.snap > 0 && len(kept) > c.snap {
		kept = kept[:c.snap]
	}
	c.block(6, func() {
		c.u32(iface)
		c.u32(uint32(ns >> 32))
		c.u32(uint32(ns))
		c.u32(uint32(len(kept)))
		c.u32(uint32(len(data)))
		c.buf = append(c.buf, kept...)
	})
}
