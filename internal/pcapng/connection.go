package pcapng

import (
	"encoding/binary"
	"time"
)

// MaxSegment is the payload of the largest TCP segment in bytes.
const MaxSegment = 1<<16 - 1 - headers

const (
	ipHeader = 20
	headers  = ipHeader + 20 // of IPv4 and TCP
	nfsPort  = 20049         // RFC 5666 §7; the listener's port
)

// Connection is a TCP connection in a File, in raw IPv4 packets on an interface of its own. The
// listener's port is 20049. Its methods may be called concurrently.
type Connection struct {
	file  *File
	name  string
	named bool
	iface uint32
	seq   [2]uint32 // of TCP, by direction
}

// Connection returns a new connection. Its interface is in the file from the first segment on.
func (f *File) Connection(name string) *Connection { return &Connection{file: f, name: name} }

// Segment writes one TCP segment, of the end that opened the connection or of the other. at is its
// time, which may be zero. It panics if payload has more than MaxSegment bytes.
func (c *Connection) Segment(fromInitiator bool, at time.Time, payload []byte) {
	if len(payload) > MaxSegment {
		panic("pcapng: a TCP segment does not fit into a packet")
	}
	c.file.mu.Lock()
	defer c.file.mu.Unlock()
	if !c.named {
		c.named, c.iface = true, c.file.addInterface(c.name)
	}
	// Each interface has its own initiator address, so that all conversations differ.
	from, to := [4]byte{10, byte(c.iface >> 22), byte(c.iface >> 14), 1}, [4]byte{10, 255, 255, 2}
	port, toPort := uint16(49152+c.iface%16384), uint16(nfsPort)
	dir := 0
	if !fromInitiator {
		from, to, port, toPort, dir = to, from, toPort, port, 1
	}
	p := make([]byte, headers, headers+len(payload))
	p[0], p[8], p[9] = 0x45, 64, 6 // IPv4, time to live, TCP
	binary.BigEndian.PutUint16(p[2:], uint16(headers+len(payload)))
	copy(p[12:], from[:])
	copy(p[16:], to[:])
	binary.BigEndian.PutUint16(p[10:], ^sum(0, p[:ipHeader]))
	t := p[ipHeader:]
	binary.BigEndian.PutUint16(t, port)
	binary.BigEndian.PutUint16(t[2:], toPort)
	binary.BigEndian.PutUint32(t[4:], c.seq[dir]+1)
	binary.BigEndian.PutUint32(t[8:], c.seq[1-dir]+1)
	t[12], t[13] = 5<<4, 0x18 // PSH, ACK
	binary.BigEndian.PutUint16(t[14:], 0xffff)
	p = append(p, payload...)
	pseudo := sum(uint32(6+len(p)-ipHeader), p[12:20])
	binary.BigEndian.PutUint16(p[36:], ^sum(uint32(pseudo), p[ipHeader:]))
	c.seq[dir] += uint32(len(payload))
	c.file.packet(c.iface, at, p)
}

// sum returns the ones' complement sum of RFC 1071.
func sum(s uint32, b []byte) uint16 {
	for ; len(b) > 1; b = b[2:] {
		s += uint32(b[0])<<8 | uint32(b[1])
	}
	if len(b) > 0 {
		s += uint32(b[0]) << 8
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}
