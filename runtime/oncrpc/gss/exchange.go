package gss

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// exchange is a call in progress. The caller's Call is used for the protected one, and restored at
// the end.
type exchange struct {
	call       *oncrpc.Call
	plain      oncrpc.Call // as the caller passed it
	mayHaveRun bool
	refusal    oncrpc.AuthStat // of a server that refused the context

	// The fields below are of one context.
	mech    Context
	service Service
	handle  []byte
	numbers *numbers
	expired bool      // the mechanism of this side refuses the context
	sent    []*number // of each transmission; the reply may have any of them (RFC 2203 §5.3.3.1)
}

// restore gives the Call back to the caller, with its Reply.
func (x *exchange) restore() {
	c, p := x.call, &x.plain
	c.Message, c.Results, c.ReplyBuf, c.MaxReply, c.Renew = p.Message, p.Results, p.ReplyBuf, p.MaxReply, p.Renew
	c.WholeReply = p.WholeReply
}

// do makes the call in a context. problem reports that one side refused it because of the context.
// If it was the server, reply is that refusal.
func (x *exchange) do(ctx context.Context, c *Carrier, a *association) (reply *oncrpc.Reply, problem bool, err error) {
	x.mech, x.service, x.handle, x.numbers, x.sent = a.mech, c.service, a.handle, a.numbers, nil
	x.expired = false
	defer func() {
		for _, n := range x.sent {
			x.numbers.release(n)
		}
	}()
	m, err := x.transmission(ctx, x.plain.Message)
	if err != nil {
		return nil, x.expired, &oncrpc.CallError{XID: x.plain.XID(), MayHaveRun: x.mayHaveRun, Err: err}
	}
	x.call.Message, x.call.Renew = m, x.renew
	x.offer(&a.info)
	reply, err = c.carrier.Call(ctx, x.call)
	if err != nil {
		var ce *oncrpc.CallError
		if errors.As(err, &ce) {
			ce.MayHaveRun = ce.MayHaveRun || x.mayHaveRun
			x.mayHaveRun = ce.MayHaveRun
		}
		return nil, x.expired, err
	}
	problem, err = x.open(reply)
	if err != nil {
		return nil, false, &oncrpc.CallError{XID: x.plain.XID(), MayHaveRun: true, Err: err}
	}
	return reply, problem, nil
}

// renew is the oncrpc.Call.Renew of the protected call: the server would drop a sequence number
// that it has seen.
func (x *exchange) renew(ctx context.Context) (oncrpc.Message, error) {
	plain := x.plain.Message
	if x.plain.Renew != nil {
		var err error
		if plain, err = x.plain.Renew(ctx); err != nil {
			return oncrpc.Message{}, err
		}
		x.plain.Message = plain
	}
	for _, n := range x.sent { // the connection that had them is gone
		x.numbers.release(n)
	}
	return x.transmission(ctx, plain)
}

// transmission returns the protected message with the next sequence number.
func (x *exchange) transmission(ctx context.Context, plain oncrpc.Message) (oncrpc.Message, error) {
	n, err := x.numbers.take(ctx)
	if err != nil {
		return oncrpc.Message{}, err
	}
	x.sent = append(x.sent, n)
	m, err := x.protect(&plain, n.seq)
	x.expired = err != nil && stale(err)
	return m, err
}

// protect returns a call with a credential, a verifier, and protected arguments.
func (x *exchange) protect(plain *oncrpc.Message, seq uint32) (_ oncrpc.Message, err error) {
	cred := CredV1{Proc: ProcData, Seq: seq, Service: x.service, Handle: x.handle}
	info := x.mech.Inquire()
	size := len(plain.Inline)
	if x.service != None {
		size = plain.Size(nil)
	}
	b := make([]byte, 0, size+20+xdr.Padded(len(x.handle))+overhead(&info, x.service))
	b = appendCred(b, plain.Inline[:callStart], &cred)
	if b, err = appendVerf(b, x.mech, b); err != nil { // RFC 2203 §5.3.1
		return oncrpc.Message{}, err
	}
	if x.service != None {
		b, err = appendBody(b, x.mech, x.service, seq, plain, callHead)
		return oncrpc.Message{Inline: b}, err
	}
	shift := len(b) - callHead
	m := oncrpc.Message{Inline: append(b, plain.Inline[callHead:]...)}
	for _, item := range plain.Items {
		item.Position += uint64(shift)
		item.Inline += shift
		m.Items = append(m.Items, item)
	}
	return m, nil
}

// restInline is a size in bytes. Over RDMA, a reply of that size surely fits inline. If a call
// offers memory for its results only, the rest of its reply must fit inline, so this is enough for
// it.
const restInline = 1024

// offer sets the memory that the protected call offers: more than the plain one by the overhead
// (RFC 8166 §8.2.2.2, R103), and under Integrity and Privacy all in one piece (§8.2.2.3, R306).
func (x *exchange) offer(info *Info) {
	c, p := x.call, &x.plain
	most := p.MaxReply
	if most == 0 {
		most = len(p.ReplyBuf)
	}
	if x.service != None {
		c.Results = nil
		for _, r := range p.Results {
			if len(r) > 0 {
				most = max(most, restInline) + xdr.Padded(len(r))
			}
		}
	}
	c.ReplyBuf, c.MaxReply, c.WholeReply = p.ReplyBuf, p.MaxReply, p.WholeReply
	if most > 0 {
		c.MaxReply = most + overhead(info, x.service)
	}
	if c.WholeReply > 0 {
		c.WholeReply += overhead(info, x.service)
	}
}

// open checks a reply and removes its protection, in its memory except for Privacy.
func (x *exchange) open(reply *oncrpc.Reply) (problem bool, err error) {
	var head oncrpc.Header
	if _, err := decode(reply.Message, &head); err != nil {
		return false, fmt.Errorf("header of the reply: %w", err)
	}
	xid := x.plain.XID()
	if head.Body.Type != oncrpc.MsgReply || head.XID != xid {
		return false, oncrpc.CheckReply(&head, xid)
	}
	if r := &head.Body.Reply; r.Stat == oncrpc.Denied {
		x.refusal = r.Rejected.AuthStat
		stale := x.refusal == oncrpc.AuthStatCtxProblem
		problem = r.Rejected.Stat == oncrpc.AuthError && (stale || x.refusal == oncrpc.AuthStatCredProblem)
		if problem && stale || len(x.sent) > 1 {
			x.mayHaveRun = true // RFC 2203 §5.3.3.4.1: also if the reply could not be protected
		}
		return problem, nil
	}
	accepted := &head.Body.Reply.Accepted
	seq, err := x.verify(accepted)
	if err != nil {
		return false, err
	}
	if reply.Padding.Align != 0 {
		return false, fmt.Errorf("%w: the reply was sent as RDMA_MSGP (RFC 8166 §8.2.2)", ErrBody)
	}
	at, stat := 12+8+xdr.Padded(len(accepted.Verf.Body))+4, accepted.Data.Stat
	service := x.service
	if stat != oncrpc.Success { // RFC 2203 §5.3.3.2: the rest is as usual
		service = None
	}
	message, err := openBody(x.mech, service, seq, reply.Message, at, replyHead)
	if err != nil {
		return false, err
	}
	putReplyHead(message, xid, stat)
	reply.Message = message
	return false, nil
}

// verify returns the sequence number whose checksum is in the verifier of a reply.
func (x *exchange) verify(reply *oncrpc.AcceptedReply) (seq uint32, err error) {
	verf := &reply.Verf
	switch {
	case verf.Flavor == oncrpc.AuthNone && len(verf.Body) == 0:
		// The carrier answers for a handler that fails, without protection.
		return 0, fmt.Errorf("%w: the server answered %v without protection, verifier %v, expected %v (RFC 2203 §5.3.3.2): "+
			"a server that fails before it can protect a reply does so, and its log has the reason; so can anyone on the path",
			oncrpc.ErrVerf, reply.Data.Stat, verf.Flavor, oncrpc.RPCSecGSS)
	case verf.Flavor != oncrpc.RPCSecGSS:
		return 0, fmt.Errorf("%w: flavour %v (%d bytes), expected %v (RFC 2203 §5.3.3.2)", oncrpc.ErrVerf, verf.Flavor, len(verf.Body), oncrpc.RPCSecGSS)
	}
	for i := len(x.sent) - 1; i >= 0; i-- {
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], x.sent[i].seq)
		if err = x.mech.VerifyMIC(b[:], verf.Body); err == nil {
			return x.sent[i].seq, nil
		}
	}
	return 0, fmt.Errorf("%w: it is no checksum of a sequence number of this call (RFC 2203 §5.3.3.2): %w", oncrpc.ErrVerf, err)
}
