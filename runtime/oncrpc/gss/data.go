package gss

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// verify returns the context of a call, after the checks of RFC 2203 §5.3.3.1: the checksum of the
// header before the sequence number is believed. The caller must release the session. If verify
// returns nil, it has answered the call.
func (h *Handler) verify(in *incoming) *session {
	s := h.complete.acquire(in.cred.Handle)
	if s == nil {
		h.refuse(in, oncrpc.Refused(oncrpc.AuthStatCredProblem), errors.New("gss: no context has the handle in the credential (RFC 2203 §5.3.3.3)"))
		return nil
	}
	call := &in.head.Body.Call
	signed := in.Message[:callStart+8+xdr.Padded(len(call.Cred.Body))] // the credential included
	var err error
	if call.Verf.Flavor != oncrpc.RPCSecGSS {
		err = fmt.Errorf("flavour %v, expected %v", call.Verf.Flavor, oncrpc.RPCSecGSS)
	} else {
		err = s.mech.VerifyMIC(signed, call.Verf.Body)
	}
	refusal := oncrpc.AuthStatCredProblem
	switch {
	case err != nil:
		if h.badMICs.Add(1); stale(err) {
			refusal = oncrpc.AuthStatCtxProblem
		}
		err = fmt.Errorf("gss: the verifier is no checksum of the header (RFC 2203 §5.3.3.3): %w", err)
	case in.cred.Seq >= MaxSeq:
		refusal = oncrpc.AuthStatCtxProblem
		err = fmt.Errorf("gss: sequence number %d, must be below %#x (RFC 2203 §5.3.3.3)", in.cred.Seq, uint32(MaxSeq))
	case !s.accept(in.cred.Seq):
		h.replays.Add(1)
		h.complete.release(s)
		h.drop(in, fmt.Errorf("gss: sequence number %d was seen, or is below the window of %d (RFC 2203 §5.3.3.1)", in.cred.Seq, h.cfg.Window))
		return nil
	default:
		h.complete.touch(s)
		return s
	}
	h.complete.release(s)
	h.refuse(in, oncrpc.Refused(refusal), err)
	return nil
}

// stale reports whether an error of a mechanism means that the context is too old (RFC 2203
// §5.3.3.3).
func stale(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && (status.Major == StatusContextExpired || status.Major == StatusCredentialsExpired)
}

// destroy serves RPCSEC_GSS_DESTROY (RFC 2203 §5.4). Its arguments and results are void, and are
// not protected.
func (h *Handler) destroy(in *incoming) {
	s := h.verify(in)
	if s == nil {
		return
	}
	h.complete.remove(s)
	a := h.answerer(in, s)
	a.service = None
	b, _ := oncrpc.NewReply(in.head.XID, oncrpc.Success).AppendBinary(nil) // cannot fail
	a.Reply(oncrpc.Message{Inline: b}, nil)
}

// data serves RPCSEC_GSS_DATA: it passes the call to the next Handler as it would be without
// protection.
func (h *Handler) data(in *incoming) {
	s := h.verify(in)
	if s == nil {
		return
	}
	if in.cred.Service < h.cfg.Required && !h.isNull(in) {
		h.complete.release(s)
		h.refuse(in, oncrpc.Refused(oncrpc.AuthStatTooWeak), fmt.Errorf("gss: the call of %q has %v, this server requires %v", s.info.Initiator, in.cred.Service, h.cfg.Required))
		return
	}
	a := h.answerer(in, s)
	if err := a.open(in); err != nil {
		in.Responder = a
		h.refuse(in, &oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}, err)
		return
	}
	in.Responder = a
	h.next.ServeRPC(in.Request)
}

// answerer returns the Responder of a call. It takes over the session that verify acquired, and
// releases it later.
func (h *Handler) answerer(in *incoming, s *session) *answerer {
	caller := &Caller{Principal: s.info.Initiator, Mechanism: s.info.Mechanism, Acceptor: s.info.Acceptor, Service: in.cred.Service}
	return &answerer{
		Responder: in.Responder, handler: h, session: s, seq: in.cred.Seq, service: in.cred.Service, xid: in.head.XID,
		ctx: context.WithValue(in.Context(), callerKey{}, caller),
	}
}

// open rewrites the message of a call: arguments without protection, after a header whose
// credential has the caller's identity in place of the handle, and no sequence number. Another
// transmission of the call thus becomes the same message, which a reply cache recognizes. The new
// header is not longer than the old one, so it is written over the old one's end.
func (a *answerer) open(in *incoming) error {
	if a.service != None && (len(in.Placed) > 0 || in.Padding.Align != 0) {
		// RFC 8166 §8.2.2.3, draft-ietf-nfsv4-rpcrdma-version-two-00 §10.2.2: the sender must not
		// reduce (R306, T61).
		return fmt.Errorf("%w: %d items apart from the message under %v (RFC 8166 §8.2.2.3)", ErrBody, len(in.Placed), a.service)
	}
	for i := range in.Placed {
		if in.Placed[i].Position < uint64(in.body) { // RFC 8166 §8.2.2 (R305)
			return fmt.Errorf("%w: an item at offset %d, within the header of %d bytes (RFC 8166 §8.2.2)", ErrBody, in.Placed[i].Position, in.body)
		}
	}
	var start [callStart]byte
	copy(start[:], in.Message)
	cred := CredV1{Service: a.service, Handle: a.session.id[:]}
	head := callHead + 20 + len(cred.Handle)
	message, err := openBody(a.session.mech, a.service, a.seq, in.Message, in.body, head)
	if err != nil {
		return err
	}
	appendNone(appendCred(message[:0], start[:], &cred))
	shift := uint64(in.body - head)
	for i := range in.Placed {
		in.Placed[i].Position -= shift
	}
	in.Padding.Start += int(shift)
	in.Message = message
	return nil
}

// answerer is the Responder of a call. It protects the reply.
type answerer struct {
	oncrpc.Responder
	handler  *Handler
	session  *session
	ctx      context.Context
	service  Service
	seq, xid uint32
	answered atomic.Bool
}

// Context implements oncrpc.Responder. FromContext returns the Caller in it.
func (a *answerer) Context() context.Context { return a.ctx }

// Principal implements oncrpc.Authenticated.
func (a *answerer) Principal() string {
	return a.session.info.Mechanism + " " + a.session.info.Initiator
}

// Room implements oncrpc.Responder. With integrity or privacy no result travels apart (R306).
func (a *answerer) Room() (results []int, reply int) {
	results, reply = a.Responder.Room()
	if a.service != None {
		results = nil
	}
	return results, max(reply-overhead(&a.session.info, a.service), 0)
}

// Drop implements oncrpc.Responder.
func (a *answerer) Drop(done func(error)) {
	if a.first(done) {
		a.handler.complete.release(a.session)
		a.Responder.Drop(done)
	}
}

// first reports whether this is the first answer to the call. It calls done with ErrAnswered if it
// is not: then the first one is on its way to the carrier, or there.
func (a *answerer) first(done func(error)) bool {
	if !a.answered.Swap(true) {
		return true
	}
	if done != nil {
		done(oncrpc.ErrAnswered)
	}
	return false
}

// Reply implements oncrpc.Responder.
func (a *answerer) Reply(m oncrpc.Message, done func(error)) {
	if !a.first(done) {
		return
	}
	protected, err := a.protect(&m)
	a.handler.complete.release(a.session)
	if err == nil {
		a.Responder.Reply(protected, done)
		return
	}
	// RFC 2203 §5.3.3.4.1, §5.3.3.4.4: no reply, if the results cannot be protected.
	a.Responder.Report(err)
	a.Responder.Drop(func(dropped error) {
		if done != nil {
			done(errors.Join(err, dropped))
		}
	})
}

// protect returns the reply with a verifier, and with protected results if it is a successful one.
func (a *answerer) protect(m *oncrpc.Message) (oncrpc.Message, error) {
	var head oncrpc.Header
	_, err := decode(m.Inline, &head)
	if err != nil || m.CheckReply(a.xid) != nil || head.Body.Reply.Stat == oncrpc.Denied {
		return *m, nil // RFC 2203 §5.3.3.3; the carrier refuses a message that is not a reply
	}
	accepted := &head.Body.Reply.Accepted
	rest := 12 + 8 + xdr.Padded(len(accepted.Verf.Body)) // offset of what follows the verifier
	b := append(make([]byte, 0, m.Size(nil)+overhead(&a.session.info, a.service)), m.Inline[:12]...)
	b, err = appendVerf(b, a.session.mech, seqBytes(a.seq))
	if err != nil { // RFC 2203 §5.3.3.4.1
		b, failed := oncrpc.NewAuthError(a.xid, oncrpc.AuthStatCtxProblem).AppendBinary(nil)
		a.Responder.Report(fmt.Errorf("gss: the verifier of a reply: %w", err))
		return oncrpc.Message{Inline: b}, failed
	}
	shift := len(b) - rest
	if accepted.Data.Stat != oncrpc.Success || a.service == None {
		out := oncrpc.Message{Inline: append(b, m.Inline[rest:]...)}
		for _, item := range m.Items {
			item.Position += uint64(shift)
			item.Inline += shift
			out.Items = append(out.Items, item)
		}
		return out, nil
	}
	b = append(b, m.Inline[rest:rest+4]...)
	b, err = appendBody(b, a.session.mech, a.service, a.seq, m, rest+4)
	if err != nil {
		return oncrpc.Message{}, fmt.Errorf("gss: the results cannot be protected: %w", err)
	}
	return oncrpc.Message{Inline: b}, nil
}
