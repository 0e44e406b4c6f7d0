package rpc

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// HandlerConfig configures NewHandler. nil is fine: a zero field is the default named with it.
type HandlerConfig struct {
	// Next serves the calls of programs that no Service has. Default: they are answered by PROG_UNAVAIL.
	Next rdmaio.Handler

	// Failed is told of each call that was answered by SYSTEM_ERR, with what its procedure, or the encoding of its results, said, and of
	// each answer that was not sent, with the reason. It must not wait, and r is valid until it returns. With or without it
	// the former are logged, and are in rdmaio.ServeEnd: see rdmaio.Request.Report.
	Failed func(r *Request, err error)
}

// Handler serves the calls of a set of services. It is an rdmaio.Handler.
type Handler struct {
	cfg      HandlerConfig
	services map[uint32][]*Service // by program
	places   sync.Pool             // of *place
}

// NewHandler makes a Handler of services. It panics if two are of the same version of a program. cfg may be nil.
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
	h.places.New = func() any {
		p := &place{handler: h, dec: xdr.NewDecoder(nil, &xdr.DecoderOptions{Alias: true}), buf: make([]byte, 0, 256)}
		p.done = p.over
		return p
	}
	return h
}

// ServeRPC implements rdmaio.Handler.
func (h *Handler) ServeRPC(r *rdmaio.Request) {
	p := h.places.Get().(*place)
	p.rpc = r
	p.dec.Reset(r.Message)
	err := p.head.DecodeXDR(p.dec)
	prog := uint32(0)
	if len(r.Message) >= 16 { // of a header that does not decode, too
		prog = binary.BigEndian.Uint32(r.Message[12:])
	}
	services := h.services[prog]
	if len(services) == 0 && h.cfg.Next != nil {
		p.release()
		h.cfg.Next.ServeRPC(r)
		return
	}
	var refusal *oncrpc.ReplyError
	switch call := &p.head.Body.Call; {
	case len(r.Message) >= 12 && binary.BigEndian.Uint32(r.Message[8:]) != oncrpc.Version: // whose header may be another one
		refusal = &oncrpc.ReplyError{Reply: oncrpc.Denied, Reject: oncrpc.RPCMismatch, Range: oncrpc.VersionRange{Low: oncrpc.Version, High: oncrpc.Version}}
	case err != nil: // RFC 8166 §4.5.2: the transport's part was right (R328)
		refusal = &oncrpc.ReplyError{Accept: oncrpc.GarbageArgs}
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

// Idempotent reports whether a procedure may be executed twice: Service.Idempotent named it, or there is none to execute.
// rdmaio.CacheReplies asks it, so that a cache before this Handler keeps the replies of all other procedures only.
// For programs that no Service has HandlerConfig.Next is asked, if it has a method like this; else the answer is no.
func (h *Handler) Idempotent(program, version, procedure uint32) bool {
	services := h.services[program]
	if len(services) == 0 && h.cfg.Next != nil {
		next, ok := h.cfg.Next.(interface {
			Idempotent(program, version, procedure uint32) bool
		})
		return ok && next.Idempotent(program, version, procedure)
	}
	for _, s := range services {
		if s.program.Version == version && s.procedures[procedure] != nil {
			return s.idempotent[procedure]
		}
	}
	return true // the answer is PROG_UNAVAIL, PROG_MISMATCH or PROC_UNAVAIL
}

// versions is the range of those that there are.
func versions(services []*Service) oncrpc.VersionRange {
	r := oncrpc.VersionRange{Low: services[0].program.Version, High: services[0].program.Version}
	for _, s := range services[1:] {
		r.Low, r.High = min(r.Low, s.program.Version), max(r.High, s.program.Version)
	}
	return r
}
