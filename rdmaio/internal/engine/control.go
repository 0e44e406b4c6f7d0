package engine

import (
	"bytes"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
)

// control sends and receives messages that are neither Calls nor Replies: properties, grants,
// errors about such messages, and messages of extensions.
type control struct {
	*shared
	sends       *sendQueue
	negotiation *negotiation
	queue       queue[outgoing]
	announced   bool // own properties were queued
	learned     bool // a set of the peer was applied
	skipping    bool // there was no memory for a set that is continued
	learning    []header.Property
	learnt      int    // bytes of learning
	data        []byte // of learning
	reserved    int    // bytes that a continued set uses
}

// outgoing is a message to be sent.
type outgoing struct {
	class protocol.Class
	free  bool // it takes no credit: ERR_VERS, before there is a version
	m     header.Message
}

// maxProperties is the number of bytes that the largest set of properties may use, over all its
// messages.
// Each property costs propertyCost besides its data.
const (
	maxProperties = 256 << 10
	propertyCost  = 32
)

// ready reports whether the first message in the queue, which must not be empty, can be sent, or
// with inside, if it may be sent between the parts of a continued message.
func (ct *control) ready(inside bool) bool {
	o := ct.queue.at(0)
	if inside && o.class != protocol.ClassError {
		return false
	}
	return o.free || ct.account.Free(o.class)
}

// send posts the first message.
func (ct *control) send() {
	o := ct.queue.pop()
	ct.post(&o)
}

// post posts a message, for which there is room.
func (ct *control) post(o *outgoing) {
	buf, n, err := ct.sends.message(&o.m, [][]byte{o.m.Payload})
	other := o.m.Kind == header.KindOther
	if other {
		ct.eff.OthersSent++
	}
	if other && err != nil { // it was not too long when it was queued
		ct.eff.Others = append(ct.eff.Others, Other{XID: o.m.XID, Type: o.m.Type, Answer: o.m.Answer, Unsent: err})
		return
	}
	if err != nil {
		ct.end(err)
		return
	}
	if o.free {
		header.SetCredit(buf.last(), o.m.Credit)
	} else {
		ct.sends.grant(buf, o.class, o.m.Credit)
	}
	ct.sends.post(buf, n)
}

// grant posts a message that only grants credits (R174).
func (ct *control) grant() {
	ct.stats.GrantMessages++
	ct.post(&outgoing{class: protocol.ClassGrant, m: header.Message{Vers: ct.version.Number(), Kind: header.KindGrant}})
}

// sendProperties queues this end's properties, and more properties.
func (ct *control) sendProperties(xid uint32, more []header.Property) {
	if !ct.announced {
		more = ct.cfg.Announce
	}
	ct.announced = true
	props := ct.version.Properties()
	ct.queue.push(outgoing{class: protocol.ClassProps, m: header.Message{
		XID: xid, Vers: ct.version.Number(), Kind: header.KindProps, Props: append(props[:len(props):len(props)], more...),
	}})
}

// forget drops the properties of a set that broke off, or that is complete.
func (ct *control) forget() {
	if ct.reserved > 0 {
		ct.cfg.Reserve(-ct.reserved)
	}
	ct.learning, ct.data, ct.learnt, ct.reserved, ct.skipping = nil, nil, 0, 0, false
}

// reserve counts the memory that a message of a continued set uses. Without memory, the set is
// discarded.
func (ct *control) reserve(m *header.Message) {
	size := 0
	for _, p := range m.Props {
		size += 2 * (propertyCost + len(p.Data)) // slices grow to twice their length
	}
	switch {
	case ct.skipping || ct.learnt > maxProperties:
	case ct.cfg.Reserve(size):
		ct.reserved += size
	default:
		ct.skipping, ct.learning, ct.data = true, nil, nil
	}
}

// sendOther queues a message of an extension.
func (ct *control) sendOther(o *Other) {
	if !ct.open {
		return
	}
	if o.Err.Code != 0 {
		ct.refuse(o.XID, o.Err)
		return
	}
	ct.queue.push(outgoing{class: protocol.ClassOther, m: header.Message{
		XID: o.XID, Vers: ct.version.Number(), Kind: header.KindOther, Type: o.Type, Flags: o.Flags, Answer: o.Answer, Payload: o.Payload,
	}})
}

// other passes on a message of an extension.
func (ct *control) other(m *header.Message) {
	o := Other{XID: m.XID, Type: m.Type, Flags: m.Flags, Answer: m.Answer, Body: m.Body, Payload: bytes.Clone(m.Payload)}
	ct.eff.Others = append(ct.eff.Others, o)
}

// refuse queues an ERROR about a message other than a Call in progress. An end that dialed sends
// none (R193, A8), except about a Call.
func (ct *control) refuse(xid uint32, e header.Error) {
	ct.pushError(outgoing{class: protocol.ClassError, m: header.Message{
		XID: xid, Vers: ct.version.Number(), Kind: header.KindError, Answer: true, Err: e,
	}})
}

// refuseVersion queues ERR_VERS with a range of versions. It has the version of the message that it
// refuses (A2).
func (ct *control) refuseVersion(p header.Prefix, low, high uint32) {
	if p.Proc == header.ErrorProcedure { // RFC 8166 §4.5: no answer to an error
		return
	}
	ct.pushError(outgoing{class: protocol.ClassError, free: true, m: header.Message{
		XID: p.XID, Vers: p.Vers, Credit: 1, Kind: header.KindError, Answer: true,
		Err: header.Error{Code: header.ErrVers, Low: low, High: high},
	}})
}

// pushError queues an ERROR, unless there are too many. Messages that need no credit, or for which
// the peer grants no credit, must not use unbounded memory (R310).
func (ct *control) pushError(o outgoing) {
	if !ct.mayRefuse() || ct.queue.len() > ct.cfg.Receives {
		ct.stats.DroppedMessages++
		return
	}
	ct.stats.ErrorMessages++
	ct.queue.push(o)
}

// learn takes a message with properties. A set that is continued is checked as a whole, when it is
// complete (A33).
func (ct *control) learn(m *header.Message) {
	if m.More {
		ct.reserve(m)
	}
	for _, p := range m.Props {
		ct.learnt += propertyCost + len(p.Data)
		if ct.learnt > maxProperties || ct.skipping {
			continue
		}
		at := len(ct.data)
		ct.data = append(ct.data, p.Data...)
		ct.learning = append(ct.learning, header.Property{ID: p.ID, Data: ct.data[at:len(ct.data):len(ct.data)]})
	}
	if m.More {
		return
	}
	set, size, whole := ct.learning, ct.learnt, ct.learnt <= maxProperties && !ct.skipping
	ct.forget()
	var learned protocol.Learned
	f := &header.Fault{Code: header.FaultLong, Found: uint64(size), Want: maxProperties}
	if whole {
		learned, f = ct.version.Learn(set)
	}
	if f != nil {
		ct.fault(f)
		if ct.cfg.Role == Responder {
			ct.refuse(m.XID, ct.version.Refusal(f))
		}
	} else {
		ct.negotiation.setTerms()
		switch {
		case !ct.learned:
			if ct.learned, ct.eff.Props = true, set; set == nil {
				ct.eff.Props = []header.Property{}
			}
		case learned.HasAuth:
			ct.eff.Auth = append(ct.eff.Auth, learned.Auth)
		}
	}
	if !ct.announced { // A7: the client waits for an answer
		ct.sendProperties(m.XID, nil)
	}
}
