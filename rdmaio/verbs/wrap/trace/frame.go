package trace

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// stream is a queue pair's connection in a Capture.
type stream struct {
	c       *Capture
	tcpConn *pcapng.Connection
	now     func() time.Time
	dials   bool // this end is the initiator
	open    bool // the negotiation is in the file

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
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// tcp writes one TCP segment.
func (s *stream) tcp(dir int, payload []byte) {
	at := time.Time{}
	if s.now != nil {
		at = s.now()
	}
	s.tcpConn.Segment((dir == out) == s.dials, at, payload)
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
