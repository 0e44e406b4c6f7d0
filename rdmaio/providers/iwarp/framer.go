package iwarp

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/rdmap"
)

// Sizes in bytes of the headers of FPDUs, from ULPDU_Length on.
const (
	prefixSize      = mpa.LengthSize + 2 // with both control fields
	taggedSize      = mpa.LengthSize + ddp.TaggedSize
	untaggedSize    = mpa.LengthSize + ddp.UntaggedSize
	readRequestSize = untaggedSize + rdmap.ReadRequestSize
	maxHead         = untaggedSize + rdmap.MaxTerminate
)

// framer makes and reads the FPDUs of a connection. It implements stream.Framer. Files send.go,
// receive.go and terminate.go have its parts.
type framer struct {
	terms   mpa.Terms
	without Workaround
	mulpdu  int
	sink    uint32 // STag of our Reads' sinks

	// Sending.
	ready bool // this side may send
	sends ddp.Sequence
	reads ddp.Sequence

	// Receiving. The reader uses these, with and without the lock.
	responder mpa.Responder // of the side that must wait for the first FPDU
	rtrRead   bool          // the response to our ready-to-receive indication is outstanding
	queues    [rdmap.QueueTerminate + 1]ddp.Queue
	tagged    ddp.Tagged
	response  rdmap.Response
	length    int        // of the ULPDU at hand
	head      ddp.Header // of the same
	op        rdmap.Opcode
	read      rdmap.ReadRequest // the body of the Read Request at hand
	report    rdmap.Terminate   // the body of the peer's Terminate
	sinkOf    rdmap.Sink        // memory for Accept
}

var _ stream.Framer = (*framer)(nil)

// put appends the start of an FPDU: the length of its ULPDU, and the DDP header. The
// ULPDU has n bytes after that header.
func put(b []byte, h *ddp.Header, n int) []byte {
	var buf [untaggedSize]byte
	binary.BigEndian.PutUint16(buf[:], uint16(h.Size()+n))
	return append(b, buf[:mpa.LengthSize+h.Put(buf[mpa.LengthSize:])]...)
}

// finish appends padding and CRC of the FPDU that begins at start of b. Only FPDUs that the
// framer sends by itself end here.
func (f *framer) finish(b []byte, start int) []byte {
	b = append(b, make([]byte, mpa.Pad(len(b)-start-mpa.LengthSize)+mpa.CRCSize)...)
	if end := len(b) - mpa.CRCSize; f.terms.CRC {
		mpa.PutCRC(b[end:], mpa.Update(0, b[start:end]))
	}
	return b
}

// emptyWrite appends an RDMA Write of no bytes, as an FPDU.
func (f *framer) emptyWrite(b []byte) []byte {
	h := ddp.Header{Tagged: true, Last: true, ULP: rdmap.Write.Control(), STag: f.unchecked(0)}
	return f.finish(put(b, &h, 0), len(b))
}

// rtr returns the ready-to-receive indication of an initiator, as an FPDU.
func (f *framer) rtr() []byte {
	switch f.terms.RTR {
	case mpa.RTRSend:
		h := ddp.Header{Last: true, ULP: rdmap.Send.Control(), MSN: f.sends.Next()}
		return f.finish(put(nil, &h, 0), 0)
	case mpa.RTRRead:
		// The queue pair does not count this Read, so nothing is sent before the response.
		f.rtrRead, f.ready = true, false
		h := ddp.Header{Last: true, ULP: rdmap.ReadRequestOp.Control(), QN: rdmap.QueueRead, MSN: f.reads.Next()}
		stag := f.unchecked(0)
		return f.finish(putRead(put(nil, &h, rdmap.ReadRequestSize), &rdmap.ReadRequest{SinkSTag: stag, SourceSTag: stag}), 0)
	}
	return f.emptyWrite(nil)
}

// putRead appends the body of a Read Request.
func putRead(b []byte, r *rdmap.ReadRequest) []byte {
	var body [rdmap.ReadRequestSize]byte
	return append(b, body[:r.Put(body[:])]...)
}

// unchecked returns the STag to send where the peer does not check it: key, or 1 for 0 (see
// NonZeroSTag).
func (f *framer) unchecked(key uint32) uint32 {
	if key == 0 && f.without&NonZeroSTag == 0 {
		return 1
	}
	return key
}
