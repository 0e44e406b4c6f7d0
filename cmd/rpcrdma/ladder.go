package main

import (
	"fmt"
	"io"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// ladderHead is the number of bytes that the ladder decodes from each message. Most headers are
// shorter.
const ladderHead = 2048

// ladder writes a line for each event of a trace. Lines of messages begin with an arrow, and the
// decoded header follows. Events that explain nothing are left out: posted and flushed Receives,
// arming and notification. A separate line has the terms that the two ends negotiated.
type ladder struct {
	w     io.Writer
	parts map[flow]*parts // the continued messages that have begun; only add uses it

	mu    sync.Mutex
	named map[*rdmaio.Conn]bool // accepted connections whose terms were written
}

// flow is one direction of a queue pair.
type flow struct {
	device string
	qp     uint32
	sent   bool
}

func newLadder(w io.Writer) *ladder {
	return &ladder{w: w, parts: map[flow]*parts{}, named: map[*rdmaio.Conn]bool{}}
}

// add writes an event. It is the sink of the trace.
func (l *ladder) add(e trace.Event) {
	switch {
	case e.Kind == trace.PostRecv, e.Kind == trace.Arm, e.Kind == trace.Notify,
		e.Kind == trace.Complete && e.Status == verbs.StatusFlushed:
		return
	case e.Kind == trace.CloseQP:
		delete(l.parts, flow{e.Device, e.QP, false})
		delete(l.parts, flow{e.Device, e.QP, true})
	}
	head := []byte(e.Head)
	e.Head = ""
	arrow := "   "
	switch {
	case e.Kind == trace.PostSend && e.Opcode != verbs.LocalInvalidate:
		arrow = "-->"
		if e.Opcode == verbs.RDMARead {
			arrow = "<=="
		} else if e.Opcode == verbs.RDMAWrite {
			arrow = "==>"
		}
	case e.Kind == trace.Complete && e.WCOpcode == verbs.WCRecv && e.Status == verbs.StatusSuccess:
		arrow = "<--"
	}
	line := arrow + " " + e.String()
	if len(head) > 0 {
		line += "\n        " + describe(head, e.Length, l.partsOf(&e))
	}
	fmt.Fprintln(l.w, line) // file.close returns the error
}

// partsOf returns the continued message that a message may be part of. A request that the provider
// refused was counted when it was posted.
func (l *ladder) partsOf(e *trace.Event) *parts {
	if e.Kind == trace.RefuseSend {
		return new(parts)
	}
	f := flow{e.Device, e.QP, e.Kind == trace.PostSend}
	if l.parts[f] == nil {
		l.parts[f] = new(parts)
	}
	return l.parts[f]
}

// event writes what the ends of a connection agreed on. An accepted connection has its version when
// its first Call comes. It is the Config.Events of a traced connection.
func (l *ladder) event(e rdmaio.Event) {
	var conn *rdmaio.Conn
	switch e := e.(type) {
	case *rdmaio.ConnUp:
		if e.Accepted {
			return
		}
		conn = e.Conn
	case *rdmaio.ServeStart:
		l.mu.Lock()
		known := l.named[e.Conn]
		l.named[e.Conn] = true
		l.mu.Unlock()
		if known {
			return
		}
		conn = e.Conn
	case *rdmaio.ConnDown:
		l.mu.Lock()
		delete(l.named, e.Conn)
		l.mu.Unlock()
		return
	default:
		return
	}
	t := conn.Terms()
	fmt.Fprintf(l.w, "        agreed with %s: %s\n", conn.RemoteAddr(), terms(&t))
}
