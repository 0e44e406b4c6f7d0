package chunk

import (
	"math"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// Limits bound the work that one header can cause at a responder. All but Address must be positive.
type Limits struct {
	// Bytes is the most that RDMA Reads take from the peer for one RPC (RFC 8166 §8.1.4,
	// draft-ietf-nfsv4-rpcrdma-version-two-00 §10.1.4; R56, R309).
	Bytes    uint64
	Segments int    // in one chunk
	Chunks   int    // read chunks, and write chunks, in one header
	Transfer uint32 // bytes of one RDMA Read or Write
	Address  uint64 // the peer's last address that the provider can express; 0: no limit
}

// unreachable returns the last address of s if it is over lim.Address, or else 0. s must not wrap.
func (lim *Limits) unreachable(s *header.Segment) uint64 {
	if s.Length == 0 || lim.Address == 0 {
		return 0
	}
	if last := s.Offset + uint64(s.Length-1); last > lim.Address {
		return last
	}
	return 0
}

// Offered checks the write list and reply chunk of a Call (R59, R309, T27). They are used after the
// RPC has run, but must be refused before.
func (lim *Limits) Offered(l *header.Lists) *header.Fault {
	if len(l.Writes) > lim.Chunks {
		return &header.Fault{Code: header.FaultChunks, Where: "write list", Found: uint64(len(l.Writes)), Want: uint64(lim.Chunks)}
	}
	for i, c := range l.Writes {
		if f := lim.offered(c, "write chunk", i); f != nil {
			return f
		}
	}
	return lim.offered(l.Reply, "reply chunk", 0)
}

// offered checks a chunk.
func (lim *Limits) offered(c []header.Segment, where string, index int) *header.Fault {
	if len(c) > lim.Segments {
		return &header.Fault{Code: header.FaultSegments, Where: where, Index: index, Found: uint64(len(c)), Want: uint64(lim.Segments)}
	}
	for i := range c {
		if c[i].Wraps() {
			return &header.Fault{Code: header.FaultWrap, Where: where, Index: index, Found: c[i].Offset, Want: uint64(c[i].Length)}
		}
		if last := lim.unreachable(&c[i]); last > 0 {
			return &header.Fault{Code: header.FaultAddress, Where: where, Index: index, Found: last, Want: lim.Address}
		}
	}
	return nil
}

// Layout cuts n contiguous bytes of a registered region into segments of at most longest bytes, and
// appends them to to.
func Layout(to []header.Segment, handle uint32, offset uint64, n int, longest uint32) []header.Segment {
	for n > 0 {
		k := min(n, int(min(longest, math.MaxInt32)))
		to = append(to, header.Segment{Handle: handle, Length: uint32(k), Offset: offset})
		offset += uint64(k)
		n -= k
	}
	return to
}
