package v1

import (
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Size returns the length of the header of m in bytes, without the payload.
func Size(m *header.Message) int {
	switch m.Kind {
	case header.KindDone:
		return header.PrefixSize
	case header.KindPadded:
		return header.PrefixSize + 8 + m.Lists.Size()
	case header.KindError:
		if m.Err.Code == header.ErrVers {
			return header.PrefixSize + 12 // R115
		}
		return header.PrefixSize + 4
	}
	return header.PrefixSize + m.Lists.Size()
}

// Append appends the header of m to b, without m.Payload. If the capacity of b is too small, it
// appends nothing and returns an error that is xdr.ErrBuffer (R33). It writes m.Vers as it is,
// since an ERROR copies the version of the message that it answers (RFC 8166 §4.5; R116).
func (v *Version) Append(b []byte, m *header.Message) ([]byte, error) {
	v.msg.XID, v.msg.Vers, v.msg.Credit = m.XID, m.Vers, m.Credit
	body := &v.msg.Body
	switch m.Kind {
	case header.KindMsg:
		body.Proc = rpcrdma1.ProcMsg
		body.Msg.Reads, body.Msg.Writes = toWire(body.Msg.Reads, body.Msg.Writes, &body.Msg.Reply, &m.Lists)
	case header.KindNomsg:
		body.Proc = rpcrdma1.ProcNomsg
		body.Nomsg.Reads, body.Nomsg.Writes = toWire(body.Nomsg.Reads, body.Nomsg.Writes, &body.Nomsg.Reply, &m.Lists)
	case header.KindPadded:
		body.Proc = rpcrdma1.ProcMsgp
		body.Msgp.Align, body.Msgp.Thresh = m.Pad.Align, m.Pad.Threshold
		body.Msgp.Reads, body.Msgp.Writes = toWire(body.Msgp.Reads, body.Msgp.Writes, &body.Msgp.Reply, &m.Lists)
	case header.KindDone:
		body.Proc = rpcrdma1.ProcDone
	case header.KindError:
		body.Proc = rpcrdma1.ProcError
		body.Error.Err = rpcrdma1.ErrCode(m.Err.Code)
		body.Error.Vrange = rpcrdma1.VersionRange{Low: m.Err.Low, High: m.Err.High}
	}
	v.enc.NoGrow(true)
	v.enc.Reset(b)
	if err := v.msg.EncodeXDR(&v.enc); err != nil { // RFC 8166 §4.1.2: Decode returns m again; R32
		return b, err
	}
	return v.enc.Bytes(), nil
}

// toWire copies l to chunk lists to be encoded. It reuses the memory of reads and writes.
func toWire(reads []rpcrdma1.ReadChunk, writes []rpcrdma1.WriteChunk, reply *xdr.Optional[rpcrdma1.WriteChunk], l *header.Lists) ([]rpcrdma1.ReadChunk, []rpcrdma1.WriteChunk) {
	reads = reads[:0]
	for i := range l.Reads {
		reads = append(reads, rpcrdma1.ReadChunk{Position: l.Reads[i].Position, Target: rpcrdma1.Segment(l.Reads[i].Segment)})
	}
	writes = writes[:0]
	for _, from := range l.Writes {
		if len(writes) < cap(writes) {
			writes = writes[:len(writes)+1]
		} else {
			writes = append(writes, rpcrdma1.WriteChunk{})
		}
		to := &writes[len(writes)-1]
		to.Target = segments(to.Target, from)
	}
	reply.Present = l.HasReply
	reply.Value.Target = segments(reply.Value.Target, l.Reply)
	return reads, writes
}

// segments copies from to the memory of to.
func segments(to []rpcrdma1.Segment, from []header.Segment) []rpcrdma1.Segment {
	to = to[:0]
	for i := range from {
		to = append(to, rpcrdma1.Segment(from[i]))
	}
	return to
}
