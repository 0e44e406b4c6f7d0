package rdmatcp

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
)

// framer implements stream.Framer: it makes and reads the segments of a connection. Files send.go
// and receive.go have the two halves.
type framer struct {
	raw    *RawConfig
	stream segment.Stream // of the receiving direction, with the Connection ID of both

	// Sending.
	number      uint32                 // number of the next message
	segmentSize int                    // payload of the open message's segments but the last
	words       [4 * controlWords]byte // control data of a SendWithInvalidate

	// Receiving. The reader uses these, with and without the lock.
	head       segment.Header        // of the segment at hand
	oldest     segment.Read          // memory for Accept
	res        uint8                 // the 4 bits of the open message's first segment
	control    [4 * reportWords]byte // the first bytes of its control data
	controlLen int                   // number of bytes in control
	rawControl [2]controlData        // of the open message in each group, for RawConfig.Control
}

var _ stream.Framer = (*framer)(nil)

// LastBytes implements stream.Framer: it appends the report, unless there is no profile. The report
// is a separate message, so it cannot begin inside another one.
func (f *framer) LastBytes(b []byte, why *stream.Report, sent stream.Progress) []byte {
	if f.raw != nil || sent == stream.SentPart {
		return b
	}
	number := f.number
	if sent == stream.BegunOnly { // a message has the last number, and no segment was sent
		number--
	}
	last := report{reason: reasonOf(why.Reason), number: why.Number, buffer: why.Key}
	if whole, err := last.append(b, f.stream.ConnID, number); err == nil {
		return whole
	}
	return b
}

// Ended implements stream.Framer.
func (f *framer) Ended(*stream.Frame) (*stream.PeerReport, error) {
	if f.controlLen < 4*reportWords {
		return nil, &stream.Refusal{
			Reason: stream.ReasonFormat,
			What:   fmt.Sprintf("report of %d bytes, want at least %d: %v", f.controlLen, 4*reportWords, errProfile),
		}
	}
	p := decodeReport(f.control[:])
	if p.reason == reasonGoodbye {
		return &stream.PeerReport{Goodbye: true}, nil
	}
	return &stream.PeerReport{
		Status: p.reason.status(), What: p.reason.String(), Where: fmt.Sprintf("message %#x, buffer 0x%08x", p.number, p.buffer),
		Caused: func(r *stream.Request) bool { return r.Number == p.number },
	}, nil
}
