package iwarp

import (
	"encoding/binary"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/rdmap"
)

// Wire implements stream.Receiver.
func (f *framer) Wire(prefix []byte) int { return mpa.Wire(int(binary.BigEndian.Uint16(prefix))) }

// HeaderSize implements stream.Receiver. It is the DDP header, and for a Read Request
// also the body.
func (f *framer) HeaderSize(prefix []byte) (int, error) {
	n, err := mpa.Length(prefix)
	if err != nil {
		return 0, err
	}
	size := ddp.UntaggedSize
	if ddp.IsTagged(prefix[mpa.LengthSize]) {
		size = ddp.TaggedSize
	}
	if n < size {
		return 0, &ddp.Error{Rule: ddp.Truncated, Tagged: size == ddp.TaggedSize, Got: uint64(n), Want: uint64(size)}
	}
	if size == ddp.UntaggedSize && n == size+rdmap.ReadRequestSize && rdmap.OpcodeOf(prefix[mpa.LengthSize+1]) == rdmap.ReadRequestOp {
		size = n
	}
	return mpa.LengthSize + size, nil
}

// Decode implements stream.Receiver.
func (f *framer) Decode(fr *stream.Frame, b []byte) error {
	f.length = int(binary.BigEndian.Uint16(b))
	f.op = rdmap.OpcodeOf(b[mpa.LengthSize+1])
	if err := f.head.Decode(b[mpa.LengthSize:]); err != nil {
		return err
	}
	fr.Head = mpa.LengthSize + f.head.Size()
	fr.Payload = f.length - f.head.Size()
	fr.Pad = mpa.Pad(f.length)
	switch {
	case len(b) == readRequestSize && fr.Payload == rdmap.ReadRequestSize && f.op == rdmap.ReadRequestOp:
		if err := f.read.Decode(b[untaggedSize:]); err != nil {
			return err
		}
		fr.Head, fr.Payload = len(b), 0
	case f.op == rdmap.TerminateOp && fr.Payload <= rdmap.MaxTerminate:
		fr.Head, fr.Payload = fr.Head+fr.Payload, 0
	}
	return nil
}

// Accept implements stream.Receiver. The checks of DDP come before the checks of RDMAP (RFC 5040
// §7.2).
func (f *framer) Accept(fr *stream.Frame, oldest *stream.Request) error {
	h, n := &f.head, f.length-f.head.Size()
	if err := f.acceptDDP(fr, h, n); err != nil {
		return err
	}
	op, err := rdmap.Check(h, n)
	if err != nil {
		return err
	}
	fr.End = h.Last
	fr.Open = f.tagged.Open() || f.queues[rdmap.QueueSend].Open()
	switch op {
	case rdmap.Write:
		fr.Kind = stream.KindWrite
		if n > 0 {
			fr.Check, fr.Key, fr.Addr, fr.Length = true, h.STag, h.TO, n
		}
	case rdmap.ReadRequestOp:
		r := &f.read
		fr.Kind, fr.Number = stream.KindReadRequest, h.MSN
		fr.Key, fr.Addr, fr.Length = r.SourceSTag, r.SourceTO, int(r.Size)
		fr.Sink, fr.SinkAddr = r.SinkSTag, r.SinkTO
	case rdmap.ReadResponse:
		err = f.acceptResponse(fr, oldest, n)
	case rdmap.TerminateOp:
		fr.Kind, fr.Number = stream.KindReport, h.MSN
	default:
		fr.Kind, fr.Number, fr.Offset = stream.KindSend, h.MSN, int(h.MO)
	}
	if err == nil && f.responder.State() == mpa.AwaitingFirst && op != rdmap.TerminateOp {
		err = f.acceptFirst(fr, op, n)
	}
	return err
}

// acceptDDP checks a segment against those before it.
func (f *framer) acceptDDP(fr *stream.Frame, h *ddp.Header, n int) error {
	if h.Tagged {
		fr.Begin = f.tagged.Begins()
		return f.tagged.Accept(h, n)
	}
	if h.QN > rdmap.QueueTerminate {
		return &ddp.Error{Rule: ddp.BadQN, Got: uint64(h.QN), Want: rdmap.QueueTerminate}
	}
	q := &f.queues[h.QN]
	fr.Begin = q.Begins()
	return q.Accept(h, n)
}

// acceptResponse checks a segment of a Read Response against the oldest Read.
func (f *framer) acceptResponse(fr *stream.Frame, oldest *stream.Request, n int) error {
	h := &f.head
	if f.rtrRead {
		if err := f.response.Accept(&rdmap.Sink{}, h.STag, h.TO, n, h.Last); err != nil {
			return err
		}
		f.rtrRead, f.ready = false, true
		return nil
	}
	var sink *rdmap.Sink
	if oldest != nil {
		f.sinkOf = f.sinkAt(oldest)
		sink = &f.sinkOf
	}
	fr.Kind, fr.Offset = stream.KindReadResponse, int(f.response.Done())
	return f.response.Accept(sink, h.STag, h.TO, n, h.Last)
}

// acceptFirst handles the first FPDU that a responder receives. A Send that is the
// ready-to-receive indication has no Receive.
func (f *framer) acceptFirst(fr *stream.Frame, op rdmap.Opcode, n int) error {
	kind := mpa.RTR(0)
	switch {
	case op == rdmap.Write && n == 0 && fr.End:
		kind = mpa.RTRWrite
	case op == rdmap.Send && n == 0 && fr.End:
		kind = mpa.RTRSend
	case op == rdmap.ReadRequestOp && f.read.Size == 0:
		kind = mpa.RTRRead
	}
	rtr, err := f.responder.First(kind)
	if err != nil {
		return err
	}
	f.ready = true
	if rtr && kind == mpa.RTRSend {
		fr.Kind = stream.KindNone
	}
	return nil
}

// Control implements stream.Receiver: b is the body of a Terminate.
func (f *framer) Control(_ *stream.Frame, b []byte) error { return f.report.Decode(b) }

// BadSum implements stream.Receiver.
func (f *framer) BadSum(_ *stream.Frame, got, want uint32) error {
	return &mpa.Error{Rule: mpa.BadCRC, Got: uint64(got), Want: uint64(want)}
}

// Observe implements stream.Receiver. No frame asks for it.
func (f *framer) Observe(*stream.Frame, uint32) {}

// Deliver implements stream.Receiver.
func (f *framer) Deliver(*stream.Frame) (stream.Delivery, error) {
	return stream.Delivery{Solicited: f.op.Solicited(), Invalidate: f.op.Invalidates(), Key: f.head.ULP2}, nil
}

// Waits implements stream.Receiver. A later Send or Write may overtake a Read (RFC 5040 §5.5).
func (f *framer) Waits(*stream.Frame, *stream.Response) bool { return false }
