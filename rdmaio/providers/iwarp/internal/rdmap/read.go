package rdmap

import "encoding/binary"

// ReadRequestSize is the size of the body of an RDMA Read Request in bytes.
const ReadRequestSize = 28

// ReadRequest is the body of an RDMA Read Request (RFC 5040 §4.4).
type ReadRequest struct {
	SinkSTag   uint32
	SinkTO     uint64
	Size       uint32
	SourceSTag uint32
	SourceTO   uint64
}

// Put writes the request to b and returns its size. It panics if b has fewer than
// ReadRequestSize bytes.
func (r *ReadRequest) Put(b []byte) int {
	b = b[:ReadRequestSize]
	binary.BigEndian.PutUint32(b, r.SinkSTag)
	binary.BigEndian.PutUint64(b[4:], r.SinkTO)
	binary.BigEndian.PutUint32(b[12:], r.Size)
	binary.BigEndian.PutUint32(b[16:], r.SourceSTag)
	binary.BigEndian.PutUint64(b[20:], r.SourceTO)
	return ReadRequestSize
}

// Decode reads the request, which is all of b.
func (r *ReadRequest) Decode(b []byte) error {
	if len(b) != ReadRequestSize {
		return fault(BadReadRequest, ReadRequestOp, uint64(len(b)), ReadRequestSize)
	}
	*r = ReadRequest{
		SinkSTag:   binary.BigEndian.Uint32(b),
		SinkTO:     binary.BigEndian.Uint64(b[4:]),
		Size:       binary.BigEndian.Uint32(b[12:]),
		SourceSTag: binary.BigEndian.Uint32(b[16:]),
		SourceTO:   binary.BigEndian.Uint64(b[20:]),
	}
	return nil
}

// Sink is where an outstanding Read of ours expects its response.
type Sink struct {
	STag uint32
	TO   uint64
	Size uint32
}

// Response checks the segments of a response to the oldest outstanding Read. The zero
// value waits for the first segment.
type Response struct{ done uint32 }

// Done returns the number of bytes of the open response that Accept has accepted.
func (r *Response) Done() uint32 { return r.done }

// Accept checks a segment of a response, with n bytes of payload at tagged offset to,
// against the oldest outstanding Read, or nil if there is none (RFC 5040 §5.2.2). STag
// and offset of a response without payload are ignored.
func (r *Response) Accept(oldest *Sink, stag uint32, to uint64, n int, last bool) error {
	switch {
	case oldest == nil:
		return fault(NoReadOutstanding, ReadResponse, uint64(stag), 0)
	case n == 0: // RFC 5041 §5.2: not checked
	case stag != oldest.STag:
		return fault(WrongSink, ReadResponse, uint64(stag), uint64(oldest.STag))
	case to != oldest.TO+uint64(r.done):
		return fault(WrongSinkOffset, ReadResponse, to, oldest.TO+uint64(r.done))
	}
	done := uint64(r.done) + uint64(n)
	if done > uint64(oldest.Size) || last && done < uint64(oldest.Size) {
		return fault(WrongReadSize, ReadResponse, done, uint64(oldest.Size))
	}
	if r.done = uint32(done); last {
		r.done = 0
	}
	return nil
}
