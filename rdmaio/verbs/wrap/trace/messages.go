package trace

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// newStream returns a new queue pair's part of the capture, or nil without a capture.
func (d *device) newStream(num uint32) *stream {
	c := d.t.cfg.Capture
	if c == nil {
		return nil
	}
	return &stream{c: c, tcpConn: c.file.Connection(fmt.Sprintf("%s/qp%d", d.name, num)), now: d.t.cfg.Now}
}

// begin records whether this end dials or accepts.
func (s *stream) begin(dials bool) {
	if s == nil {
		return
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.dials = dials
}

// established writes the negotiation, unless a message was written before.
func (s *stream) established(own *verbs.ConnParams, peer []byte) {
	if s == nil {
		return
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	var mine []byte
	if own != nil {
		mine = own.PrivateData
	}
	if s.dials {
		s.negotiate(mine, peer)
	} else {
		s.negotiate(peer, mine)
	}
}

// send writes a request before it is posted.
func (s *stream) send(wr *verbs.SendWR) {
	if s == nil {
		return
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	switch wr.Opcode {
	case verbs.Send, verbs.SendWithInvalidate:
		op, stag := byte(rdmapSend), uint32(0)
		if wr.Opcode == verbs.SendWithInvalidate {
			op, stag = rdmapSendInvalidate, wr.InvalidateRKey
		}
		s.untagged(out, op, 0, stag, wr.SGL)
	case verbs.RDMAWrite:
		s.tagged(out, rdmapWrite, wr.RKey, wr.RemoteAddr, wr.SGL)
	case verbs.RDMARead:
		s.read(wr)
	}
}

// read writes a Read request (RFC 5040 §4.4). It uses the number of the request as the sink's
// STag, since the provider's own is not visible here.
func (s *stream) read(wr *verbs.SendWR) {
	stag := s.msn[out][1] + 1
	if len(s.reads) == maxPending {
		s.reads = s.reads[1:]
	}
	s.reads = append(s.reads, pendingRead{wr.WRID, append([]verbs.SGE(nil), wr.SGL...), stag})
	b := binary.BigEndian.AppendUint32(nil, stag)
	b = binary.BigEndian.AppendUint64(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(listLen(wr.SGL)))
	b = binary.BigEndian.AppendUint32(b, wr.RKey)
	b = binary.BigEndian.AppendUint64(b, wr.RemoteAddr)
	s.untagged(out, rdmapReadRequest, 1, 0, []verbs.SGE{{MR: bytesOnly{b: b}, Length: len(b)}})
}

// bytesOnly is a region that has only the method Bytes.
type bytesOnly struct {
	verbs.MemoryRegion
	b []byte
}

func (r bytesOnly) Bytes() []byte { return r.b }

// recv records a posted Receive.
func (s *stream) recv(wr *verbs.RecvWR) {
	if s == nil {
		return
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if len(s.recvs) == maxPending {
		s.recvs = s.recvs[1:]
	}
	s.recvs = append(s.recvs, append([]verbs.SGE(nil), wr.SGL...))
}

// unrecv removes the last n Receives, which the provider has refused.
func (s *stream) unrecv(n int) {
	if s == nil {
		return
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.recvs = s.recvs[:max(0, len(s.recvs)-n)]
}

// complete writes the message or the data of a completion.
func (s *stream) complete(wc *verbs.WC) {
	if s == nil {
		return
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	switch {
	case wc.Status != verbs.StatusSuccess: // the connection is down
		s.recvs, s.reads = nil, nil
	case wc.Opcode == verbs.WCRecv && len(s.recvs) > 0:
		op := byte(rdmapSend)
		if wc.InvalidatedRKey != 0 {
			op = rdmapSendInvalidate
		}
		s.untagged(in, op, 0, wc.InvalidatedRKey, received(s.recvs[0], wc))
		s.recvs = s.recvs[1:]
	case wc.Opcode == verbs.WCRDMARead:
		for i, r := range s.reads {
			if r.id == wc.WRID {
				s.tagged(in, rdmapReadResponse, r.stag, 0, r.sgl)
				s.reads = s.reads[i+1:] // those before it were unsignaled
				return
			}
		}
	}
}

// prefix shortens a list to its first n bytes, in place.
func prefix(sgl []verbs.SGE, n int) []verbs.SGE {
	for i := range sgl {
		sgl[i].Length = min(sgl[i].Length, n)
		n -= sgl[i].Length
	}
	return sgl
}

// received returns the elements that hold a received message.
func received(sgl []verbs.SGE, wc *verbs.WC) []verbs.SGE {
	if wc.Loan != nil {
		return []verbs.SGE{{MR: bytesOnly{b: wc.Loan.Bytes()}, Length: int(wc.ByteLen)}}
	}
	return prefix(sgl, int(wc.ByteLen))
}
