package sim

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/history"
)

// log is the history of a run.
type log struct {
	*history.Log
	w       *world
	results uint64
}

func newLog(w *world) log {
	return log{Log: history.New(func() time.Duration { return w.now }), w: w}
}

// tried records that an RPC is sent over a connection.
func (l *log) tried(p *rpc, e *end) {
	e.link.carried[p.tag] = true
	if p.tries > 1 {
		l.Note(fmt.Sprintf("%s sends it again", e.name), p.tag)
	} else {
		l.Note(fmt.Sprintf("%s sends it", e.name), p.tag)
	}
}

// executed records that an end executes an RPC, and puts the execution's number into the reply.
func (l *log) executed(p *rpc, e *end, reply []byte) {
	l.results++
	binary.BigEndian.PutUint64(reply[16:], l.results)
	if n := l.Executed(p.tag, e.name, l.results); n > p.tries {
		l.w.fail("RPC %d was executed %d times in %d tries", p.tag, n, p.tries)
	}
}

// lost records that an end is down, for the RPCs in progress that were on its connection.
func (l *log) lost(e *end) {
	for tag := range e.link.carried {
		if l.w.calls.rpcs[tag].outcome == "" {
			l.Note(fmt.Sprintf("%s is down: %v", e.name, e.err), tag)
		}
	}
}

// returned records the outcome of an RPC.
func (l *log) returned(p *rpc) {
	how := history.NotSent
	switch {
	case p.outcome == "ok", p.outcome == "ok by read chunks":
		how = history.Answered
	case p.outcome == "refused":
		how = history.Refused
	case p.sent:
		how = history.MayHaveRun
	}
	l.Returned(p.tag, how, p.result)
}
