package engine

import "github.com/rpcrdma/rpcrdma/rdmaio/internal/header"

// request deals with a Call in Receive i, decoded into rs.next. own is the memory of its payload if
// that is not the Receive.
func (rs *responder) request(r *Request, i int, own []byte, f *header.Fault) {
	if !rs.account.Accept() { // R134: what follows may need this Receive more (T119)
		rs.stats.CallsOverCredit++
		rs.postRecv(i)
		if e := rs.version.Refusal(&header.Fault{Code: header.FaultCredit}); e.Code != 0 {
			rs.control.refuse(r.hdr.XID, e)
		} else {
			rs.stats.DroppedMessages++
		}
		if own != nil {
			rs.giveBack(own)
		}
		return
	}
	rs.next = rs.idle.take()
	rs.to(r, received)
	r.XID = r.hdr.XID
	r.source.recv, r.source.joined = i, own
	if own == nil {
		rs.takeLoan(r)
	}
	if own != nil || !rs.account.Keeps() {
		if own == nil && r.source.loan == nil {
			r.hdr.Payload = r.source.keep(r.hdr.Payload)
		}
		rs.postRecv(i)
		r.source.recv = none
	}
	rs.flow.Calls++
	if f == nil {
		if f = rs.accept(r); f != nil {
			rs.fault(f)
		}
	}
	if f != nil {
		r.Refused = f
		rs.refuse(r, rs.version.Refusal(f))
		return
	}
	if r.Chunks == nil || len(r.plan.Placed) == 0 && r.hdr.Kind == header.KindMsg {
		r.Message = r.hdr.Payload
		rs.to(r, delivered)
		rs.eff.Deliver = append(rs.eff.Deliver, r)
		return
	}
	rs.wantAssembly(r)
}

// accept checks the whole header of a Call. Nothing has been allocated for the Call yet.
func (rs *responder) accept(r *Request) *header.Fault {
	reverse := rs.cfg.Role == Requester
	// A reverse Call with chunks is refused with the option off (R124, R277; T118).
	if l := &r.hdr.Lists; reverse && !rs.cfg.ReverseChunks && (len(l.Reads) > 0 || len(l.Writes) > 0 || l.HasReply) {
		f := &header.Fault{Code: header.FaultReverse, Found: uint64(l.Size()), Want: header.NoLists}
		if len(l.Reads) > 0 {
			f.Where = "read list"
		}
		return f
	}
	if r.hdr.Kind == header.KindMsg {
		// complete checks a message that comes by chunk.
		if f := head(r.hdr.Payload, r.XID, header.Call); f != nil {
			return f
		}
	}
	if f := rs.cfg.Limits.Offered(&r.hdr.Lists); f != nil {
		return f
	}
	if !reverse { // keys of forward Calls only
		r.key = rs.version.InvalidateKey(&r.hdr, rs.terms.RemoteInvalidate)
	}
	r.hdr.InvalidateKey = 0 // the Reply names none (R259)
	if l := &r.hdr.Lists; len(l.Reads)+len(l.Writes) > 0 || l.HasReply || r.hdr.Kind == header.KindNomsg {
		r.withChunks()
	}
	if r.Chunks == nil {
		return nil
	}
	f := r.plan.Call(r.hdr.Reads, len(r.hdr.Payload), r.hdr.Kind == header.KindNomsg, &rs.cfg.Limits)
	r.hdr.Reads = r.hdr.Reads[:0] // none go back in the Reply (R326)
	if f == nil {
		f = rs.checkReadDepth(r)
	}
	return f
}
