package rpc

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/gss"
)

// HandlerConfig configures NewHandler. A nil *HandlerConfig has the default in every field.
type HandlerConfig struct {
	// Next serves the calls to programs that no Service serves. If nil, they are answered with
	// PROG_UNAVAIL.
	Next oncrpc.Handler

	// Failed is called for each call that is answered with SYSTEM_ERR, with the error from its
	// procedure or from encoding the results. It is also called for each reply that was not sent,
	// with the reason. It must not block. r is valid until it returns. Errors behind SYSTEM_ERR are
	// also passed to oncrpc.Request.Report, with or without Failed.
	Failed func(r *Request, err error)

	// Interceptors run around each procedure, the first outermost.
	Interceptors []ServerInterceptor

	// Timeout is the time after which a call's Request.Context is done. The procedure decides what
	// to do then; the call is not answered by itself. If zero, there is no limit.
	Timeout time.Duration

	// Events is called for each call that a Handler has answered or dropped, before the answer is
	// passed to the carrier. It must not block.
	Events func(*Served)
}

// Handler serves calls to a set of services. It implements oncrpc.Handler.
type Handler struct {
	cfg      HandlerConfig
	services map[uint32][]*Service // by program
	number   uint32                // of the first one's program
	first    []*Service            // its services, to save a look into the map
	requests sync.Pool             // of *pooledRequest
}

// NewHandler returns a Handler for services. It panics if two of them have the same program and
// version. cfg may be nil.
func NewHandler(cfg *HandlerConfig, services ...*Service) *Handler {
	h := &Handler{services: make(map[uint32][]*Service)}
	if cfg != nil {
		h.cfg = *cfg
	}
	for _, s := range services {
		for _, t := range h.services[s.program.Number] {
			if t.program.Version == s.program.Version {
				panic(fmt.Sprintf("rpc: two services of program %d version %d", s.program.Number, s.program.Version))
			}
		}
		h.services[s.program.Number] = append(h.services[s.program.Number], s)
	}
	if len(services) > 0 {
		h.number = services[0].program.Number
		h.first = h.services[h.number]
	}
	h.requests.New = func() any {
		p := &pooledRequest{Request: Request{handler: h}, buf: make([]byte, 0, 256)}
		p.memory.limit(&p.Request)
		p.dec = p.memory.decoder()
		p.done = p.replyDone
		return p
	}
	return h
}

// of returns a program's services.
func (h *Handler) of(program uint32) []*Service {
	if program == h.number {
		return h.first
	}
	return h.services[program]
}

// ServeRPC implements oncrpc.Handler.
func (h *Handler) ServeRPC(r *oncrpc.Request) {
	p := h.requests.Get().(*pooledRequest)
	p.rpc = r
	if h.cfg.Events != nil {
		p.arrived = time.Now()
	}
	p.dec.Reset(r.Message)
	err := p.head.DecodeXDR(p.dec)
	prog := uint32(0)
	if len(r.Message) >= 16 { // also if the header cannot be decoded
		prog = binary.BigEndian.Uint32(r.Message[12:])
	}
	services := h.of(prog)
	if len(services) == 0 && h.cfg.Next != nil {
		p.release()
		h.cfg.Next.ServeRPC(r)
		return
	}
	refusal := (*oncrpc.ReplyError)(nil)
	if err == nil {
		refusal = refuseCred(&p.head.Body.Call.Cred, r)
	}
	switch call := &p.head.Body.Call; {
	// Another version of RPC may have another header, so whether it was decoded does not matter.
	case len(r.Message) >= 12 && binary.BigEndian.Uint32(r.Message[8:]) != oncrpc.Version:
		refusal = &oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.RPCMismatch, Range: oncrpc.VersionRange{Low: oncrpc.Version, High: oncrpc.Version}}
	case err != nil: // RFC 8166 §4.5.2: the transport header was valid (R328)
		p.finish(garbage(err), nil)
		return
	case refusal != nil:
	case len(services) == 0:
		refusal = &oncrpc.ReplyError{Accept: oncrpc.ProgUnavail}
	default:
		for _, s := range services {
			if s.program.Version == call.Vers {
				p.serve(s)
				return
			}
		}
		refusal = &oncrpc.ReplyError{Accept: oncrpc.ProgMismatch, Range: versions(services)}
	}
	p.finish(refusal, nil)
}

// refuseCred returns why a call's credential is refused, whatever the procedure is, or nil: it is
// malformed, or it has the flavour RPCSEC_GSS and no gss.Handler has checked it. A request for a
// context looks like a call of procedure 0 (RFC 2203 §5.2.3.2).
func refuseCred(cred *oncrpc.OpaqueAuth, r *oncrpc.Request) *oncrpc.ReplyError {
	if refusal := oncrpc.CheckCred(cred); refusal != nil {
		return refusal
	}
	if cred.Flavor == oncrpc.RPCSecGSS && gss.FromContext(r.Context()) == nil {
		return oncrpc.Refused(oncrpc.AuthStatRejectedCred)
	}
	return nil
}

// Idempotent reports whether a call may be executed twice, because its procedure was passed to
// Service.Idempotent or because there is no such procedure. replycache.New calls it and keeps
// only the replies of other procedures. For programs that no Service serves it asks
// HandlerConfig.Next in the same way, and returns false if Next does not have this method.
func (h *Handler) Idempotent(program, version, procedure uint32) bool {
	services := h.of(program)
	if len(services) == 0 && h.cfg.Next != nil {
		next, ok := h.cfg.Next.(interface {
			Idempotent(program, version, procedure uint32) bool
		})
		return ok && next.Idempotent(program, version, procedure)
	}
	for _, s := range services {
		if p := s.procedures[procedure]; s.program.Version == version && p != nil {
			return p.null || s.idempotent[procedure]
		}
	}
	return true // the reply is PROG_UNAVAIL, PROG_MISMATCH or PROC_UNAVAIL
}

// ReplyBound implements oncrpc.Bounder. For programs that no Service serves it asks
// HandlerConfig.Next.
func (h *Handler) ReplyBound(program, version, procedure uint32) int {
	services := h.of(program)
	if len(services) == 0 && h.cfg.Next != nil {
		return oncrpc.BoundOf(h.cfg.Next, program, version, procedure)
	}
	for _, s := range services {
		if s.program.Version == version {
			return s.of(procedure).bound
		}
	}
	return -1 // a Handler that embeds this one may serve it
}

// NonBlocking implements oncrpc.NonBlocker: the procedure was passed to Service.NonBlocking, or is
// the null procedure of NewService. With Interceptors it is false for all, because they may wait.
// For programs that no Service serves it asks HandlerConfig.Next. A type that embeds a Handler, and
// has another ServeRPC, needs its own NonBlocking unless that does not wait either.
func (h *Handler) NonBlocking(program, version, procedure uint32) bool {
	services := h.of(program)
	if len(services) == 0 && h.cfg.Next != nil {
		return oncrpc.NonBlocking(h.cfg.Next, program, version, procedure)
	}
	if len(h.cfg.Interceptors) > 0 {
		return false
	}
	for _, s := range services {
		if s.program.Version == version {
			return s.of(procedure).nonBlocking
		}
	}
	return false // a Handler that embeds this one may serve it
}

// ForgetsRequests implements oncrpc.Forgetter: a call's memory is used again after its answer. A
// HandlerConfig.Next must do so, too.
func (h *Handler) ForgetsRequests() bool {
	return h.cfg.Next == nil || oncrpc.ForgetsRequests(h.cfg.Next)
}

// IsNull implements oncrpc.NullKnower: procedure 0 is the null procedure if NewService added it.
// For programs that no Service serves it asks HandlerConfig.Next.
func (h *Handler) IsNull(program, version uint32) bool {
	services := h.of(program)
	if len(services) == 0 && h.cfg.Next != nil {
		return oncrpc.IsNull(h.cfg.Next, program, version)
	}
	for _, s := range services {
		if s.program.Version == version {
			return s.procedures[0].null
		}
	}
	return true
}

// versions returns the range from the lowest to the highest version of the services.
func versions(services []*Service) oncrpc.VersionRange {
	r := oncrpc.VersionRange{Low: services[0].program.Version, High: services[0].program.Version}
	for _, s := range services[1:] {
		r.Low, r.High = min(r.Low, s.program.Version), max(r.High, s.program.Version)
	}
	return r
}
