package iwarp

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/ddp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/mpa"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/rdmap"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The causes of a Terminate that break no rule. RFC 5044 §8 counts time limits among the
// reasons of a lost connection.
var (
	causeSlow   = rdmap.Cause{Layer: rdmap.LayerLLP, Code: 1}
	causeUpper  = rdmap.Cause{Layer: rdmap.LayerRDMAP, Type: rdmap.TypeOperation, Code: 0xff}
	causeFailed = rdmap.Cause{Layer: rdmap.LayerRDMAP, Type: rdmap.TypeLocal}
)

// terminate appends a Terminate to b, as an FPDU. It is the only message of its queue.
func (f *framer) terminate(b []byte, t *rdmap.Terminate) []byte {
	var body [rdmap.MaxTerminate]byte
	content := t.Append(body[:0])
	h := ddp.Header{Last: true, ULP: rdmap.TerminateOp.Control(), QN: rdmap.QueueTerminate, MSN: 1}
	return f.finish(append(put(b, &h, len(content)), content...), len(b))
}

// LastBytes implements stream.Framer. A Terminate may come between two FPDUs of another message.
func (f *framer) LastBytes(b []byte, why *stream.Report, _ stream.Progress) []byte {
	if why.Reason == stream.ReasonGoodbye {
		return b // the end of the stream says it
	}
	t := rdmap.Terminate{Cause: f.cause(why)}
	if why.AtHand {
		f.describe(&t)
	}
	return f.terminate(b, &t)
}

// cause returns the cause of this side's Terminate.
func (f *framer) cause(why *stream.Report) rdmap.Cause {
	var (
		ddpErr   *ddp.Error
		rdmapErr *rdmap.Error
		mpaErr   *mpa.Error
	)
	switch {
	case errors.As(why.Err, &ddpErr):
		etype, code := ddpErr.Code()
		return rdmap.Cause{Layer: rdmap.LayerDDP, Type: etype, Code: code}
	case errors.As(why.Err, &rdmapErr):
		return rdmapErr.Rule.Cause()
	case errors.As(why.Err, &mpaErr):
		return rdmap.Cause{Layer: rdmap.LayerLLP, Code: mpaErr.Rule.Code()}
	}
	switch why.Reason {
	case stream.ReasonAccess:
		if !why.AtHand { // the region of a Read whose response is not complete
			return rdmap.InvalidSTag.Cause()
		}
		return f.denied(why.Denial)
	case stream.ReasonLength:
		return ddpCause(ddp.MessageTooLong)
	case stream.ReasonReceiver:
		return ddpCause(ddp.NoBuffer)
	case stream.ReasonReads:
		return rdmap.TooManyReads.Cause()
	case stream.ReasonSlow:
		return causeSlow
	case stream.ReasonFormat:
		return causeUpper
	}
	return causeFailed
}

func ddpCause(rule ddp.Rule) rdmap.Cause {
	etype, code := rule.Code(rule >= ddp.STagChanged)
	return rdmap.Cause{Layer: rdmap.LayerDDP, Type: etype, Code: code}
}

// denied returns the cause for a range that the peer may not use. DDP has no code for a missing
// right: Linux reports an invalid STag, too.
func (f *framer) denied(why soft.Denial) rdmap.Cause {
	if f.op.IsSend() { // the STag of a Send with Invalidate
		return rdmap.CannotInvalidate.Cause()
	}
	tagged, read := ddp.InvalidSTag, rdmap.Access
	switch why {
	case soft.NoRegion, soft.Invalidated:
		read = rdmap.InvalidSTag
	case soft.OtherDomain:
		tagged, read = ddp.NotAssociated, rdmap.NotAssociated
	case soft.OutOfBounds:
		tagged, read = ddp.Bounds, rdmap.Bounds
	}
	if f.op == rdmap.ReadRequestOp {
		return read.Cause()
	}
	return ddpCause(tagged)
}

// describe adds the headers of the segment at hand, for the errors of RFC 5040 Figure 10.
func (f *framer) describe(t *rdmap.Terminate) {
	c := t.Cause
	if c.Layer == rdmap.LayerLLP || c.Type == rdmap.TypeLocal {
		return
	}
	t.HasDDP, t.Length, t.DDP = true, uint16(f.length), f.head
	if c.Layer == rdmap.LayerRDMAP && c.Type == rdmap.TypeProtection && f.op == rdmap.ReadRequestOp {
		t.HasRead, t.Read = true, f.read
	}
}

// Ended implements stream.Receiver.
func (f *framer) Ended(*stream.Frame) (*stream.PeerReport, error) {
	t := &f.report
	cause := t.Cause
	if f.without&SwappedTerminate == 0 {
		cause = t.Likely()
	}
	p := &stream.PeerReport{
		Status: status(cause, t), What: cause.String(), Where: fmt.Sprintf("Terminate control % x", t.Control),
		Caused: func(r *stream.Request) bool { return t.HasDDP && caused(t, r) },
	}
	if t.HasDDP && t.DDP.Tagged {
		p.Where += fmt.Sprintf(", STag 0x%08x, offset %#x", t.DDP.STag, t.DDP.TO)
	} else if t.HasDDP {
		p.Where += fmt.Sprintf(", queue %d, message %d", t.DDP.QN, t.DDP.MSN)
	}
	return p, nil
}

// caused reports whether the segment in a Terminate is one of a request.
func caused(t *rdmap.Terminate, r *stream.Request) bool {
	switch h := &t.DDP; r.Opcode {
	case verbs.RDMAWrite:
		return h.Tagged && h.STag == r.RKey && h.TO-r.Addr < uint64(r.Total)
	case verbs.RDMARead:
		return !h.Tagged && h.QN == rdmap.QueueRead && h.MSN == r.Number
	default:
		return !h.Tagged && h.QN == rdmap.QueueSend && h.MSN == r.Number
	}
}

// status returns the status of the request that has caused a Terminate.
func status(c rdmap.Cause, t *rdmap.Terminate) verbs.Status {
	switch {
	case c == causeSlow:
		return verbs.StatusRetryExceeded
	case c == ddpCause(ddp.NoBuffer) && t.HasDDP && t.DDP.QN == rdmap.QueueRead: // too many Reads
		return verbs.StatusRemoteInvalidRequest
	case c == ddpCause(ddp.NoBuffer):
		return verbs.StatusRNRRetryExceeded
	case c.Layer == rdmap.LayerRDMAP && c.Type == rdmap.TypeProtection,
		c == rdmap.Cause{Layer: rdmap.LayerRDMAP, Type: rdmap.TypeOperation, Code: rdmap.CannotInvalidate.Cause().Code},
		c.Layer == rdmap.LayerDDP && c.Type == ddp.TypeTagged && c.Code <= 3:
		return verbs.StatusRemoteAccess
	case c == rdmap.TooManyReads.Cause() && t.HasDDP && t.DDP.QN == rdmap.QueueRead:
		return verbs.StatusRemoteInvalidRequest
	case c.Layer == rdmap.LayerRDMAP && (c.Type == rdmap.TypeLocal || c.Code == 7 || c.Code == 8),
		c.Layer == rdmap.LayerDDP && c.Type == ddp.TypeLocal,
		c.Layer == rdmap.LayerLLP && c.Code == mpa.CodeLocalCatastrophic,
		!c.Known():
		return verbs.StatusRemoteOperation
	}
	return verbs.StatusRemoteInvalidRequest
}
