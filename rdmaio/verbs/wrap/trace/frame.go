package trace

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// stream is a queue pair's connection in a Capture.
type stream struct {
	c     *Capture
	now   func() time.Time
	iface uint32
	named bool
	name  string
	dials bool // this end is the initiator
	open  bool // the negotiation is in the file

	seq   [2]uint32    // of TCP, by direction
	msn   [2][2]uint32 // of DDP, by direction and queue
	recvs [][]verbs.SGE
	reads []pendingRead
}

// pendingRead holds the data of a posted Read that its response needs.
type pendingRead struct {
	id   uint64
	sgl  []verbs.SGE
	stag uint32
}

// The directions.
const (
	out = iota
	in
)

const (
	maxPending = 4096     // lists of posted requests
	maxSegment = 32 << 10 // payload of one FPDU
	nfsPort    = 20049    // RFC 5666 §7; the listener's port
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// tcp writes one TCP segment with its headers.
func (s *stream) tcp(dir int, payload []byte) {
	if !s.named {
		s.named, s.iface = true, s.c.addInterface(s.name)
	}
	// Each interface has its own initiator address, so that all conversations differ.
	initiator, listener := [4]byte{10, byte(s.iface >> 22), byte(s.iface >> 14), 1}, [4]byte{10, 255, 255, 2}
	port, toPort := uint16(49152+s.iface%16384), uint16(nfsPort)
	from, to := initiator, listener
	if (dir == out) != s.dials {
		from, to, port, toPort = listener, initiator, toPort, port
	}
	p := make([]byte, 40, 40+len(payload))
	p[0], p[8], p[9] = 0x45, 64, 6 // IPv4, time to live, TCP
	binary.BigEndian.PutUint16(p[2:], uint16(40+len(payload)))
	copy(p[12:], from[:])
	copy(p[16:], to[:])
	binary.BigEndian.PutUint16(p[10:], ^sum(0, p[:20]))
	t := p[20:]
	binary.BigEndian.PutUint16(t, port)
	binary.BigEndian.PutUint16(t[2:], toPort)
	binary.BigEndian.PutUint32(t[4:], s.seq[dir]+1)
	binary.BigEndian.PutUint32(t[8:], s.seq[1-dir]+1)
	t[12], t[13] = 5<<4, 0x18 // PSH, ACK
	binary.BigEndian.PutUint16(t[14:], 0xffff)
	p = append(p, payload...)
	pseudo := sum(uint32(6+len(p)-20), p[12:20])
	binary.BigEndian.PutUint16(p[36:], ^sum(uint32(pseudo), p[20:]))
	s.seq[dir] += uint32(len(payload))
	at := time.Time{}
	if s.now != nil {
		at = s.now()
	}
	s.c.packet(s.iface, at, p)
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

// negotiate writes the MPA request and reply (RFC 5044 §7.1), once.
func (s *stream) negotiate(request, reply []byte) {
	if s.open {
		return
	}
	s.open = true
	dir := in
	if s.dials {
		dir = out
	}
	frame := func(key string, private []byte) []byte {
		b := append([]byte(key), 0x40, 1) // CRC wanted, revision 1
		b = binary.BigEndian.AppendUint16(b, uint16(len(private)))
		return append(b, private...)
	}
	s.tcp(dir, frame("MPA ID Req Frame", request))
	s.tcp(1-dir, frame("MPA ID Rep Frame", reply))
}

// fpdu writes one framed ULPDU (RFC 5044 §4).
func (s *stream) fpdu(dir int, ulpdu []byte) {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, len(ulpdu)+10), uint16(len(ulpdu)))
	b = append(b, ulpdu...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	s.tcp(dir, binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli)))
}

// RDMAP's opcodes (RFC 5040 §4.3). The two Sends with Solicited Event are not used: Wireshark
// passes only the plain ones to its RPC-over-RDMA dissector.
const (
	rdmapWrite = iota
	rdmapReadRequest
	rdmapReadResponse
	rdmapSend
	rdmapSendInvalidate
)

// The control bytes of DDP (RFC 5041 §4.1) and RDMAP, both of version 1.
const (
	ddpTagged, ddpLast, ddpVersion = 0x80, 0x40, 0x01
	rdmapVersion                   = 0x40
)

// untagged writes a message to one of the peer's queues.
func (s *stream) untagged(dir int, op byte, queue, stag uint32, sgl []verbs.SGE) {
	s.negotiate(nil, nil)
	s.msn[dir][queue]++
	s.segments(sgl, func(off int, last byte, data []byte) {
		b := append(make([]byte, 0, 18+len(data)), ddpVersion|last, rdmapVersion|op)
		b = binary.BigEndian.AppendUint32(b, stag)
		b = binary.BigEndian.AppendUint32(b, queue)
		b = binary.BigEndian.AppendUint32(b, s.msn[dir][queue])
		b = binary.BigEndian.AppendUint32(b, uint32(off))
		s.fpdu(dir, append(b, data...))
	})
}

// tagged writes a message that is placed in memory.
func (s *stream) tagged(dir int, op byte, stag uint32, to uint64, sgl []verbs.SGE) {
	s.negotiate(nil, nil)
	s.segments(sgl, func(off int, last byte, data []byte) {
		b := append(make([]byte, 0, 14+len(data)), ddpTagged|ddpVersion|last, rdmapVersion|op)
		b = binary.BigEndian.AppendUint32(b, stag)
		b = binary.BigEndian.AppendUint64(b, to+uint64(off))
		s.fpdu(dir, append(b, data...))
	})
}

// segments splits a list into segments, at least one. It skips elements that every provider
// refuses.
func (s *stream) segments(sgl []verbs.SGE, each func(off int, last byte, data []byte)) {
	var data []byte
	off := 0
	for _, e := range sgl {
		if e.MR == nil || e.Offset < 0 || e.Length < 0 || e.Offset > len(e.MR.Bytes()) || e.Length > len(e.MR.Bytes())-e.Offset {
			continue
		}
		for b := e.MR.Bytes()[e.Offset : e.Offset+e.Length]; len(b) > 0; {
			if len(data) == maxSegment {
				each(off, 0, data)
				off, data = off+len(data), data[:0]
			}
			n := min(len(b), maxSegment-len(data))
			data, b = append(data, b[:n]...), b[n:]
		}
	}
	each(off, ddpLast, data)
}
