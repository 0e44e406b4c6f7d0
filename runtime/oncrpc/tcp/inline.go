package tcp

import (
	"errors"
	"runtime"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// errReplaced reports that another goroutine reads by now.
var errReplaced = errors.New("tcp: another goroutine reads")

// watchInline prepares the state of handlers that run on the goroutine that reads.
func (s *serving) watchInline() {
	c := s.conn
	c.inline.Blockers, c.inline.Warn = &c.shared.blocks, c.set.warnBlocked
	c.inline.Replace = func() {
		c.wg.Add(1) // the handler's goroutine is counted still
		go c.read()
	}
}

// warnBlocked logs that a procedure blocks that must not.
func (s *settings) warnBlocked(program, version, procedure uint32) {
	of := &oncrpc.Program{Number: program, Version: version}
	s.faults.Warn("tcp: a procedure blocks although it is marked as one that does not (oncrpc.NonBlocker): from now on it has a goroutine for each Call",
		"call", of.Describe(procedure))
}

// serveHere runs the handler of a Request on the goroutine that reads, if its procedure never
// blocks, no earlier Request waits for a place, and there is memory for the reply at once.
// Otherwise it returns false. The error is errReplaced if the handler had to wait all the same.
func (s *serving) serveHere(r *request) (ran bool, err error) {
	c := s.conn
	if c.set.NonBlocking || c.waiting.Waiting() {
		return false, nil
	}
	prog, vers, proc, _ := oncrpc.Procedure(r.Message)
	returned := false
	defer func() {
		if !returned {
			ran, err = true, r.died(recover(), prog, vers, proc)
		}
	}()
	h := c.handler
	if !oncrpc.NonBlocking(h, prog, vers, proc) || c.shared.blocks.Has(prog, vers, proc) || !r.ticket.Admit(oncrpc.BoundOf(h, prog, vers, proc), nil) {
		returned = true
		return false, nil
	}
	r.handler = h
	r.here = c.inline.Begin(prog, vers, proc)
	run := r.here
	r.users.Add(1)
	h.ServeRPC(&r.Request)
	returned = true
	r.leave()
	if !c.inline.End(run) {
		return true, errReplaced
	}
	if c.inline.Turn() {
		c.out.flush()
		runtime.Gosched()
		c.out.hold()
	}
	return true, nil
}

// died closes the connection, because the handler of a Request has panicked with v or exits the
// goroutine that reads, if v is nil. It returns errReplaced if another goroutine reads by now.
func (r *request) died(v any, prog, vers, proc uint32) error {
	c := r.conn
	replaced := r.here != 0 && !c.inline.End(r.here)
	if v == nil && r.answered.Load() && replaced {
		return errReplaced // only the goroutine ends
	}
	r.fault(v, prog, vers, proc)
	if replaced {
		return errReplaced
	}
	return c.Err()
}

// fault closes the connection of a handler that has panicked with v, or exited its goroutine.
func (r *request) fault(v any, prog, vers, proc uint32) {
	c := r.conn
	err, program := oncrpc.Panicked(v), &oncrpc.Program{Number: prog, Version: vers}
	c.set.faults.Error("tcp: a handler panicked, its connection is closed",
		"peer", c.RemoteAddr(), "call", program.Describe(proc), "panic", err.Value, "stack", err.Frames())
	c.fail(err)
	r.drop()
	c.deliver() // the goroutine may be the one that reads, and end
}

// replaceReader makes another goroutine read, if the handler of a Request runs on the one that
// reads: the handler has to wait.
func (r *request) replaceReader() {
	if r.here != 0 {
		r.conn.inline.HandOver(r.here)
	}
}
