package v1

import (
	"encoding/binary"
	"errors"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// minimum is the size in bytes of the shortest message with chunk lists: four words and three
// absent lists (RFC 8166 §4.5; R27, R325). DONE and ERROR are shorter (T19).
const minimum = 28

// Decode decodes b into m. Afterwards m.Payload is a slice of b. If b is invalid, Decode returns a
// fault:
//
//   - FaultShort: no field can be trusted, and the message is to be dropped (RFC 8166 §4.5; T18,
//     T19)
//   - FaultVersion: only XID, Vers and Credit of m are set (T23). An ERROR of another version is
//     not a fault, as it must never be answered.
//   - other codes: the same fields are set; the header is of version 1 and invalid
//
// Decode also decodes RDMA_DONE and RDMA_MSGP, which RFC 8166 §4.6 withdrew; the engine decides
// whether to accept them (A21). An ERROR whose body is invalid is not a fault, since it ends an RPC
// all the same: its Err.Code is 0 (T72). Time and memory are linear in len(b) (R29 to R31, R324).
func (v *Version) Decode(b []byte, m *header.Message) *header.Fault {
	m.Reset()
	p, ok := header.DecodePrefix(b) // RFC 8166 §4.2, §7: the same in all versions; R321
	if !ok {
		return &header.Fault{Code: header.FaultShort, Found: uint64(len(b)), Want: header.PrefixSize}
	}
	m.XID, m.Vers, m.Credit = p.XID, p.Vers, p.Credit
	if p.Vers != Number { // of the first message or of a later one; R188
		if rpcrdma1.Proc(p.Proc) == rpcrdma1.ProcError {
			m.Kind = header.KindError
			m.Err = otherVersion(b)
			return nil
		}
		return &header.Fault{Code: header.FaultVersion, Found: uint64(p.Vers), Want: Number}
	}
	switch rpcrdma1.Proc(p.Proc) { // RFC 8166 §4.2.4: all five are decoded; R18
	case rpcrdma1.ProcDone: // RFC 8166 §4.1.2, §4.6.2; R22
		m.Kind = header.KindDone
		return nil
	case rpcrdma1.ProcError:
		m.Kind = header.KindError
	case rpcrdma1.ProcMsg, rpcrdma1.ProcNomsg, rpcrdma1.ProcMsgp:
		if len(b) < minimum {
			return &header.Fault{Code: header.FaultShort, Found: uint64(len(b)), Want: minimum}
		}
	default: // T21
		return &header.Fault{Code: header.FaultProcedure, Found: uint64(p.Proc), Want: uint64(rpcrdma1.ProcError)}
	}

	v.dec.Reset(b)
	if err := v.msg.DecodeXDR(&v.dec); err != nil {
		if m.Kind == header.KindError {
			return nil
		}
		f := &header.Fault{Code: header.FaultXDR, Found: uint64(len(b)), Want: uint64(len(b)), Err: err}
		if e, ok := errors.AsType[*xdr.Error](err); ok {
			f.Found = uint64(e.Offset)
		}
		return f
	}
	switch body := &v.msg.Body; body.Proc {
	case rpcrdma1.ProcMsg: // RFC 8166 §4.2.4; R19
		m.Kind = header.KindMsg
		fromWire(&m.Lists, body.Msg.Reads, body.Msg.Writes, &body.Msg.Reply)
		m.Payload = v.dec.Rest()
	case rpcrdma1.ProcMsgp: // RFC 8166 §4.1.2, §4.6.1; R21
		m.Kind = header.KindPadded
		m.Pad = header.Pad{Align: body.Msgp.Align, Threshold: body.Msgp.Thresh}
		fromWire(&m.Lists, body.Msgp.Reads, body.Msgp.Writes, &body.Msgp.Reply)
		m.Payload = v.dec.Rest()
	case rpcrdma1.ProcNomsg: // RFC 8166 §4.2.4; R20
		m.Kind = header.KindNomsg
		fromWire(&m.Lists, body.Nomsg.Reads, body.Nomsg.Writes, &body.Nomsg.Reply)
		// T32: bytes after the lists are never an RPC message; the header must be damaged.
		if n := len(v.dec.Rest()); n > 0 {
			return &header.Fault{Code: header.FaultTrailing, Found: uint64(n)}
		}
	case rpcrdma1.ProcError: // RFC 8166 §4.2.4; R23
		m.Err.Code = header.ErrorCode(body.Error.Err) // unknown codes too (R121)
		if body.Error.Err == rpcrdma1.ErrVers {
			m.Err.Low, m.Err.High = body.Error.Vrange.Low, body.Error.Vrange.High
		}
	}
	return nil
}

// otherVersion decodes the ERROR of another version: a peer that does not support ours may report
// that in its own. RFC 8166 §4.1, §7: all versions have the procedure, ERR_VERS and its range in
// the same place and with the same numbers. It does not decode other errors.
func otherVersion(b []byte) (e header.Error) {
	const at = header.PrefixSize
	if len(b) >= at+12 && binary.BigEndian.Uint32(b[at:]) == uint32(rpcrdma1.ErrVers) {
		e = header.Error{Code: header.ErrVers, Low: binary.BigEndian.Uint32(b[at+4:]), High: binary.BigEndian.Uint32(b[at+8:])}
	}
	return e
}

// fromWire copies decoded chunk lists to l.
func fromWire(l *header.Lists, reads []rpcrdma1.ReadChunk, writes []rpcrdma1.WriteChunk, reply *xdr.Optional[rpcrdma1.WriteChunk]) {
	for i := range reads {
		l.Reads = append(l.Reads, header.ReadSegment{Position: reads[i].Position, Segment: header.Segment(reads[i].Target)})
	}
	for i := range writes {
		c := l.AddWrite(len(writes[i].Target))
		for j := range c {
			c[j] = header.Segment(writes[i].Target[j])
		}
	}
	if r := reply.Get(); r != nil {
		l.HasReply = true
		for i := range r.Target {
			l.Reply = append(l.Reply, header.Segment(r.Target[i]))
		}
	}
}
