package chunk

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// Piece is a range of a message, and its source.
type Piece struct {
	At  int // offset in the message
	Len int // bytes, never 0

	Source Source
	From   int            // offset in the inline stream (FromInline)
	Remote header.Segment // range of the peer's memory, of Len bytes (FromPeer)
}

// Source is the source of a Piece.
type Source uint8

// The sources.
const (
	FromInline Source = iota // the payload stream of the received message
	FromPeer                 // RDMA Read
	FromPad                  // zeros: roundup, which is not sent (R68)
)

// Placed is the range of a read chunk in the message.
type Placed struct {
	At, Len int
}

// Plan describes how to assemble a message. The zero Plan is ready for use. It keeps its memory for
// the next call of Call.
type Plan struct {
	Size      int     // bytes of the message
	BytesRead uint64  // of them read by RDMA Read
	Reads     int     // number of Pieces that are FromPeer
	Pieces    []Piece // in order and without gaps
	Placed    []Placed
}

// Call plans a message from its read list and the length of its inline payload. With long, the
// message is an RDMA_NOMSG, whose chunk at position zero replaces the inline payload (R75, R91 to
// R94). Call refuses:
//
//   - positions that are not multiples of four, do not increase, are within the previous chunk
//     (roundup included) or past the end of the stream (R62, R65 to R67)
//   - position zero beside an inline payload, and RDMA_NOMSG without position zero (R93, R94)
//   - ranges that pass 2^64, and anything over a limit (R52, R56, R59)
//
// A chunk that includes its roundup needs no special case: its bytes take the place of the pad
// (R70).
func (p *Plan) Call(reads []header.ReadSegment, inline int, long bool, lim *Limits) *header.Fault {
	*p = Plan{Pieces: p.Pieces[:0], Placed: p.Placed[:0]}
	rest, f := p.check(reads, long, lim)
	if f != nil {
		return f
	}
	src := source{inline: inline, longest: lim.Transfer}
	if long {
		src.segments = reads[:len(reads)-len(rest)]
		for i := range src.segments {
			src.left += uint64(src.segments[i].Length)
		}
		// RFC 8166 §3.5.3: of any size (R102), but with an XID and a type, as in T69.
		if src.left < 8 {
			return &header.Fault{Code: header.FaultNoChunk, Where: "read list", Found: src.left, Want: 8}
		}
	} else {
		src.left = uint64(inline)
	}

	for len(rest) > 0 { // RFC 8166 §4.3.1: a chunk for each position; R64
		n := run(rest)
		pos, at := uint64(rest[0].Position), uint64(p.Size)
		if pos < at {
			return &header.Fault{Code: header.FaultOverlap, Where: "read list", Index: len(reads) - len(rest), Found: pos, Want: at}
		}
		if pos-at > src.left { // R66
			return &header.Fault{Code: header.FaultBeyond, Where: "read list", Index: len(reads) - len(rest), Found: pos, Want: at + src.left}
		}
		src.appendTo(p, pos-at)
		p.insert(rest[:n], lim.Transfer)
		rest = rest[n:]
	}
	src.appendTo(p, src.left)
	return nil
}

// check makes all checks that need no lengths of earlier chunks. It returns the segments after
// those of position zero.
func (p *Plan) check(reads []header.ReadSegment, long bool, lim *Limits) (rest []header.ReadSegment, f *header.Fault) {
	fault := func(c header.Code, i int, found, want uint64) ([]header.ReadSegment, *header.Fault) {
		return nil, &header.Fault{Code: c, Where: "read list", Index: i, Found: found, Want: want}
	}
	chunks := 0
	for i := 0; i < len(reads); {
		n := run(reads[i:])
		pos := reads[i].Position
		switch chunks++; {
		case chunks > lim.Chunks:
			return fault(header.FaultChunks, i, uint64(chunks), uint64(lim.Chunks))
		case n > lim.Segments:
			return fault(header.FaultSegments, i, uint64(n), uint64(lim.Segments))
		case pos&3 != 0:
			return fault(header.FaultAligned, i, uint64(pos), 4)
		case i > 0 && pos < reads[i-1].Position: // equal ones are one run
			return fault(header.FaultOrder, i, uint64(pos), uint64(reads[i-1].Position))
		case pos == 0 && !long:
			return fault(header.FaultZero, i, 0, 4)
		}
		for j := i; j < i+n; j++ {
			s := &reads[j].Segment
			if s.Wraps() {
				return fault(header.FaultWrap, j, s.Offset, uint64(s.Length))
			}
			if last := lim.unreachable(s); last > 0 {
				return fault(header.FaultAddress, j, last, lim.Address)
			}
			// The sum stays below Bytes + 2^32: no wrap in 64 bits.
			if p.BytesRead += uint64(s.Length); p.BytesRead > lim.Bytes {
				return fault(header.FaultBytes, j, p.BytesRead, lim.Bytes)
			}
		}
		i += n
	}
	if !long {
		return reads, nil
	}
	if len(reads) == 0 || reads[0].Position != 0 { // RFC 8166 §4.5.2; R94, R327, T33, T42
		return fault(header.FaultNoChunk, 0, 0, 8)
	}
	return reads[run(reads):], nil
}

// run returns the number of leading segments that have the same position and so form one chunk
// (RFC 8166 §3.4.5, draft-ietf-nfsv4-rpcrdma-version-two-00 §4.4.5; R61, R63).
func run(reads []header.ReadSegment) int {
	n := 1
	for n < len(reads) && reads[n].Position == reads[0].Position {
		n++
	}
	return n
}

// insert adds a chunk and its roundup at the end of the plan.
func (p *Plan) insert(segments []header.ReadSegment, longest uint32) {
	start := p.Size
	// RFC 8166 §3.4.4, draft-ietf-nfsv4-rpcrdma-version-two-00 §4.4.4: cut at any byte; R54
	for i := range segments {
		p.pull(segments[i].Segment, longest)
	}
	n := p.Size - start
	p.Placed = append(p.Placed, Placed{At: start, Len: n})
	if pad := -n & 3; pad > 0 { // R57, R68
		p.Pieces = append(p.Pieces, Piece{At: p.Size, Len: pad, Source: FromPad})
		p.Size += pad
	}
}

// pull adds a segment of the peer's memory at the end of the plan, in RDMA Reads of at most longest
// bytes. An empty segment adds nothing (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.4.3; R55).
func (p *Plan) pull(s header.Segment, longest uint32) {
	for s.Length > 0 {
		n := min(s.Length, longest)
		p.Pieces = append(p.Pieces, Piece{
			At: p.Size, Len: int(n), Source: FromPeer,
			Remote: header.Segment{Handle: s.Handle, Length: n, Offset: s.Offset},
		})
		p.Size += int(n)
		p.Reads++
		s.Length -= n
		s.Offset += uint64(n)
	}
}

// source is the reduced payload stream: the inline payload, or a chunk at position zero.
type source struct {
	inline   int // length of the payload
	from     int // next byte of the payload
	segments []header.ReadSegment
	done     uint32 // bytes of the first segment that are planned
	left     uint64 // bytes that are not planned yet
	longest  uint32
}

// appendTo adds the next n bytes of the stream to the plan. n must not exceed s.left.
func (s *source) appendTo(p *Plan, n uint64) {
	s.left -= n
	if s.segments == nil {
		if n > 0 {
			p.Pieces = append(p.Pieces, Piece{At: p.Size, Len: int(n), Source: FromInline, From: s.from})
			p.Size += int(n)
			s.from += int(n)
		}
		return
	}
	for n > 0 {
		part := s.segments[0].Segment
		part.Offset += uint64(s.done)
		part.Length -= s.done
		if uint64(part.Length) > n {
			part.Length = uint32(n)
			s.done += part.Length
		} else {
			s.segments, s.done = s.segments[1:], 0
		}
		n -= uint64(part.Length)
		p.pull(part, s.longest)
	}
}
