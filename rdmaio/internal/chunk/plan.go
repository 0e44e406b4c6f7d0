package chunk

import (
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
)

// Piece says where some bytes of a message come from.
type Piece struct {
	At  int // in the message
	Len int // bytes, never 0

	Source Source
	From   int            // offset in the inline stream (FromInline)
	Remote header.Segment // range of the peer's memory, of Len bytes (FromPeer)
}

// Source is where a Piece comes from.
type Source uint8

// The sources.
const (
	FromInline Source = iota // the payload stream of the message received
	FromPeer                 // RDMA Read
	FromPad                  // zeros: roundup that travels nowhere (R68)
)

// Placed is a read chunk's place in the message.
type Placed struct {
	At, Len int
}

// Plan says how to put a Call together. The zero Plan is ready; it keeps its memory when used again.
type Plan struct {
	Size      int     // bytes of the message
	BytesRead uint64  // of them by RDMA Read
	Reads     int     // how many of Pieces are FromPeer
	Pieces    []Piece // ascending and gapless: they fill the message
	Placed    []Placed
}

// Call plans the message of a Call from its read list and the length of its
// inline payload; long means RDMA_NOMSG, where a chunk at position zero takes
// the place of the inline stream (R75, R91 to R94). What it refuses:
//
//   - positions that are not multiples of four, do not increase, lie within the
//     chunk before (roundup included) or past what the stream can fill (R62, R65 to R67)
//   - position zero beside an inline payload, RDMA_NOMSG without it (R93, R94)
//   - ranges that pass 2^64, and anything over a limit (R52, R56, R59)
//
// A chunk that carries its own roundup needs no special care: its bytes land
// where the pad would be (R70).
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
		// RFC 8166 §3.5.3: of any size (R102). T69's counterpart: but with an XID.
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
		src.take(p, pos-at)
		p.insert(rest[:n], lim.Transfer)
		rest = rest[n:]
	}
	src.take(p, src.left)
	// Splitting the stream around chunks can make more Reads than there are segments.
	if p.Reads > lim.Requests {
		return &header.Fault{Code: header.FaultSegments, Where: "read list", Found: uint64(p.Reads), Want: uint64(lim.Requests)}
	}
	return nil
}

// check is everything that can be said before a length is used. It returns the
// segments behind those of position zero.
func (p *Plan) check(reads []header.ReadSegment, long bool, lim *Limits) (rest []header.ReadSegment, f *header.Fault) {
	fault := func(c header.Code, i int, found, want uint64) ([]header.ReadSegment, *header.Fault) {
		return nil, &header.Fault{Code: c, Where: "read list", Index: i, Found: found, Want: want}
	}
	chunks, requests := 0, uint64(0)
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
			requests += (uint64(s.Length) + uint64(lim.Transfer) - 1) / uint64(lim.Transfer)
		}
		i += n
	}
	if requests > uint64(lim.Requests) {
		return fault(header.FaultSegments, 0, requests, uint64(lim.Requests))
	}
	if !long {
		return reads, nil
	}
	if len(reads) == 0 || reads[0].Position != 0 { // RFC 8166 §4.5.2; R94, R327, T33, T42
		return fault(header.FaultNoChunk, 0, 0, 8)
	}
	return reads[run(reads):], nil
}

// run is how many segments from the first on have its position: one chunk (R61, R63).
func run(reads []header.ReadSegment) int {
	n := 1
	for n < len(reads) && reads[n].Position == reads[0].Position {
		n++
	}
	return n
}

// insert adds a chunk at the end of what is there, and its roundup.
func (p *Plan) insert(segments []header.ReadSegment, longest uint32) {
	start := p.Size
	for i := range segments { // RFC 8166 §3.4.4: cut at any byte; R54
		p.pull(segments[i].Segment, longest)
	}
	n := p.Size - start
	p.Placed = append(p.Placed, Placed{At: start, Len: n})
	if pad := -n & 3; pad > 0 { // R57, R68
		p.Pieces = append(p.Pieces, Piece{At: p.Size, Len: pad, Source: FromPad})
		p.Size += pad
	}
}

// pull adds a range of the peer's memory, in Reads of at most longest bytes. A
// segment of no bytes adds nothing (R55).
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

// source is the reduced stream: inline, or a chunk at position zero.
type source struct {
	inline   int // its length
	from     int // next byte of it
	segments []header.ReadSegment
	done     uint32 // bytes used of the first segment
	left     uint64
	longest  uint32
}

// take appends the next n bytes of the stream to the plan; there are as many.
func (s *source) take(p *Plan, n uint64) {
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
