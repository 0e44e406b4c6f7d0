package trace

import (
	"encoding/binary"
	"io"
	"sync"
	"time"
)

// Capture writes the messages of traced queue pairs as a pcapng file, which stock Wireshark
// and tshark dissect down to RPC-over-RDMA version 1 and NFS. For version 2 they need
// tools/wireshark/rpcrdma2.lua.
//
// The packets are made up. Each queue pair has an interface, named "device/qpN", with a TCP
// connection of its own in raw IPv4 packets. The messages are written as an iWARP stack
// would send them (RFC 5044, 5041, 5040), with valid lengths, numbers, checksums and CRCs.
// The listener's port is 20049. Sends have no Solicited Event bit, because Wireshark
// dissects RPC-over-RDMA only in plain Sends; trace events have the flag.
//
// The file has the messages of the traced end. Sends, Writes and Read requests are written
// when they are posted, even if the provider then refuses them, which Events show. Received
// messages and the data of Reads are written when their completion is polled. The peer's
// Writes and Reads do not involve this end: they are in the file only if the peer's device
// is traced too, on its own interface.
//
// A Capture holds one packet in memory, and for each queue pair the lists of posted Receives
// and Reads, at most 4096 of each. The file has the payload of the messages, so protect it
// as that payload.
type Capture struct {
	mu     sync.Mutex
	w      io.Writer
	snap   int
	err    error
	ifaces uint32
	buf    []byte
}

// NewCapture writes the head of a file and returns its Capture. snap is the number of bytes
// to keep of each packet, or 0 for all; headers have about 80. Each packet is one Write to w,
// which may be a bufio.Writer. After an error of w, nothing more is written.
func NewCapture(w io.Writer, snap int) *Capture {
	c := &Capture{w: w, snap: snap}
	c.block(0x0a0d0d0a, func() {
		c.u32(0x1a2b3c4d)
		c.buf = append(c.buf, 1, 0, 0, 0) // version 1.0, in our byte order
		c.buf = append(c.buf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	})
	return c
}

// Err returns the error of w, or nil.
func (c *Capture) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *Capture) u32(v uint32) { c.buf = binary.LittleEndian.AppendUint32(c.buf, v) }

// pad appends zeros up to a multiple of four bytes.
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

// addInterface writes the description of an interface and returns its number.
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
