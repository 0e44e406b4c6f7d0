package gss

import (
	"errors"
	"fmt"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// establish serves RPCSEC_GSS_INIT and RPCSEC_GSS_CONTINUE_INIT (RFC 2203 §5.2.2). The service and
// the sequence number in the credential mean nothing there.
func (h *Handler) establish(in *incoming) {
	token, refusal, err := in.token()
	if err != nil {
		h.refuse(in, refusal, err)
		return
	}
	var s *session
	if in.cred.Proc == ProcContinueInit {
		// While a step runs, its session is in no table: a second step cannot run at the same time.
		if s = h.incomplete.take(in.cred.Handle); s == nil {
			h.refuse(in, oncrpc.Refused(oncrpc.AuthStatRejectedCred), errors.New("gss: RPCSEC_GSS_CONTINUE_INIT for a handle that is not of an incomplete context (RFC 2203 §5.2.3.2)"))
			return
		}
	} else {
		_, source := oncrpc.HostOf(in.Conn().RemoteAddr())
		s = &session{handle: newHandle(), source: source}
	}
	h.step(in, s, token)
}

// token returns the token of a creation request, or the reason for its refusal.
func (in *incoming) token() (token []byte, refusal *oncrpc.ReplyError, err error) {
	call := &in.head.Body.Call
	switch {
	case call.Verf.Flavor != oncrpc.AuthNone || len(call.Verf.Body) > 0:
		return nil, oncrpc.Refused(oncrpc.AuthStatBadVerf), fmt.Errorf("gss: a creation request with a verifier of flavour %v and %d bytes, must be AUTH_NONE (RFC 2203 §5.2.2)", call.Verf.Flavor, len(call.Verf.Body))
	case in.cred.Proc == ProcInit && len(in.cred.Handle) > 0:
		return nil, oncrpc.Refused(oncrpc.AuthStatBadCred), fmt.Errorf("gss: the first creation request has a handle of %d bytes, must be empty (RFC 2203 §5.2.2)", len(in.cred.Handle))
	}
	refusal = &oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}
	// RFC 8166 §8.2.2: elements of RPCSEC_GSS are never reduced (R305).
	if len(in.Placed) > 0 || in.Padding.Align != 0 {
		return nil, refusal, errors.New("gss: a creation request with items apart from the message (RFC 8166 §8.2.2)")
	}
	var arg InitArg
	if err := decodeAll(in.Message[in.body:], &arg); err != nil {
		return nil, refusal, fmt.Errorf("gss: rpc_gss_init_arg (RFC 2203 §5.2.2): %w", err)
	}
	if len(arg.Token) > maxToken {
		return nil, refusal, fmt.Errorf("gss: a token of %d bytes, this server takes at most %d", len(arg.Token), maxToken)
	}
	return arg.Token, nil, nil
}

// step passes a token to the mechanism and answers with its token. s belongs to step.
func (h *Handler) step(in *incoming, s *session, token []byte) {
	step, err := h.mech.AcceptSecContext(in.Context(), s.mech, token)
	if step.Context != nil {
		s.mech = step.Context
	}
	s.steps++
	switch {
	case err == nil && s.mech == nil:
		err = errors.New("gss: the mechanism returned neither a context nor an error")
	case err == nil && !step.Complete && s.steps == maxSteps:
		err = fmt.Errorf("gss: the context was not complete after %d tokens", maxSteps)
	}
	res := InitRes{Handle: s.handle[:], SeqWindow: uint32(h.cfg.Window), Token: step.Token, Major: StatusContinueNeeded}
	reply := oncrpc.NewReply(in.head.XID, oncrpc.Success)
	var mic []byte
	if err == nil && step.Complete { // RFC 2203 §5.2.3.1
		res.Major = StatusComplete
		if mic, err = s.mech.GetMIC(nil, seqBytes(res.SeqWindow)); err == nil {
			reply.Body.Reply.Accepted.Verf = oncrpc.OpaqueAuth{Flavor: oncrpc.RPCSecGSS, Body: mic}
		}
	}
	if err != nil {
		h.fail(in, s, err)
		return
	}
	b, err := reply.AppendBinary(nil)
	if err == nil {
		b, err = res.AppendBinary(b)
	}
	if err != nil {
		h.fail(in, s, err)
		return
	}
	if step.Complete {
		s.info, s.window = s.mech.Inquire(), newWindow(h.cfg.Window)
		s.id = h.identify(&s.info)
		h.complete.add(s)
	} else {
		h.incomplete.add(s)
	}
	in.Reply(oncrpc.Message{Inline: b}, nil)
}

// fail gives up an establishment. The status goes to the client in a successful reply (RFC 2203
// §5.2.3.1), without a handle or a token.
func (h *Handler) fail(in *incoming, s *session, why error) {
	if s.mech != nil {
		s.mech.Delete()
	}
	if h.cfg.Refused != nil {
		h.cfg.Refused(in.Request, fmt.Errorf("gss: GSS_Accept_sec_context: %w", why))
	}
	res := InitRes{Major: StatusFailure}
	var status *StatusError
	if errors.As(why, &status) && status.Major > StatusContinueNeeded {
		res.Major, res.Minor = status.Major, status.Minor
	}
	// Neither can fail.
	b, _ := oncrpc.NewReply(in.head.XID, oncrpc.Success).AppendBinary(nil)
	b, _ = res.AppendBinary(b)
	in.Reply(oncrpc.Message{Inline: b}, nil)
}
