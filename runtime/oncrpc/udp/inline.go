package udp

import (
	"runtime"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// watchInline prepares the state of handlers that run on the goroutine that reads.
func (s *Server) watchInline() {
	s.inline.Blockers = &s.blocks
	s.inline.Warn = func(program, version, procedure uint32) {
		of := &oncrpc.Program{Number: program, Version: version}
		s.set.faults.Warn("udp: a procedure blocks although it is marked as one that does not (oncrpc.NonBlocker): from now on it has a goroutine for each Call",
			"call", of.Describe(procedure))
	}
	s.inline.Replace = func() { s.wg.Go(s.read) } // the handler's goroutine is counted still
}

// serveHere runs the handler of a Request on the goroutine that reads, if its procedure never
// blocks and there is memory for the reply at once. Otherwise ran is false. If reads is false,
// another goroutine reads by now.
func (s *Server) serveHere(r *request) (ran, reads bool) {
	prog, vers, proc, _ := oncrpc.Procedure(r.Message)
	returned := false
	defer func() {
		if returned {
			return
		}
		v := recover()
		ran = true
		if v == nil { // it exits the goroutine
			s.inline.HandOver(r.here)
		}
		if reads = r.here == 0 || s.inline.End(r.here); v != nil || !r.answered.Load() {
			r.fault(v, prog, vers, proc)
		}
	}()
	h := s.handler
	if !oncrpc.NonBlocking(h, prog, vers, proc) || s.blocks.Has(prog, vers, proc) || !r.ticket.Admit(oncrpc.BoundOf(h, prog, vers, proc), nil) {
		returned = true
		return false, true
	}
	run := s.inline.Begin(prog, vers, proc)
	r.here = run
	h.ServeRPC(&r.Request)
	returned = true
	reads = s.inline.End(run)
	if reads && s.inline.Turn() {
		runtime.Gosched()
	}
	return true, reads
}

// fault drops the Request of a handler that has panicked with v, or exited its goroutine.
func (r *request) fault(v any, prog, vers, proc uint32) {
	err, program := oncrpc.Panicked(v), &oncrpc.Program{Number: prog, Version: vers}
	r.server.set.faults.Error("udp: a handler panicked", "peer", r.peer.remote,
		"call", program.Describe(proc), "panic", err.Value, "stack", err.Frames())
	r.server.abandon(r, err)
	r.Request.Drop(nil) // by way of all Responders
}
