package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// ladderHead is the number of bytes of each message that the ladder decodes. Most headers are
// shorter.
const ladderHead = 2048

// ladder writes a line for each event of a trace. Lines of messages begin with an arrow, and the
// decoded header follows. Events that explain nothing are left out: posted and flushed Receives,
// arming and notification.
type ladder struct{ w io.Writer }

func newLadder(w io.Writer) *ladder { return &ladder{w: w} }

// add writes an event. It is the sink of the trace.
func (l *ladder) add(e trace.Event) {
	switch {
	case e.Kind == trace.PostRecv, e.Kind == trace.Arm, e.Kind == trace.Notify,
		e.Kind == trace.Complete && e.Status == verbs.StatusFlushed:
		return
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
		line += "\n        " + describe(head)
	}
	fmt.Fprintln(l.w, line) // file.close returns the error
}

// describe returns a message of RPC-over-RDMA version 1 as a line of text.
func describe(b []byte) string {
	var m rpcrdma1.Message
	d := xdr.NewDecoder(b, &xdr.DecoderOptions{Alias: true})
	if err := m.DecodeXDR(d); err != nil {
		return fmt.Sprintf("not decoded: %v", err)
	}
	var s strings.Builder
	fmt.Fprintf(&s, "xid 0x%08x version %d credits %d %v", m.XID, m.Vers, m.Credit, m.Body.Proc)
	switch m.Body.Proc {
	case rpcrdma1.ProcMsg:
		h := &m.Body.Msg
		lists(&s, h.Reads, h.Writes, h.Reply)
		content(&s, d)
	case rpcrdma1.ProcNomsg:
		h := &m.Body.Nomsg
		lists(&s, h.Reads, h.Writes, h.Reply)
	case rpcrdma1.ProcError:
		fmt.Fprintf(&s, " %v", m.Body.Error.Err)
		if m.Body.Error.Err == rpcrdma1.ErrVers {
			fmt.Fprintf(&s, ", versions %d to %d", m.Body.Error.Vrange.VersLow, m.Body.Error.Vrange.VersHigh)
		}
	}
	return s.String()
}

// lists appends the chunk lists.
func lists(s *strings.Builder, reads []rpcrdma1.ReadChunk, writes []rpcrdma1.WriteChunk, reply xdr.Optional[rpcrdma1.WriteChunk]) {
	for _, r := range reads {
		fmt.Fprintf(s, ", read at %d: %d bytes key 0x%08x", r.Position, r.Target.Length, r.Target.Handle)
	}
	segments := func(what string, c *rpcrdma1.WriteChunk) {
		fmt.Fprintf(s, ", %s", what)
		for _, t := range c.Target {
			fmt.Fprintf(s, " %d bytes key 0x%08x", t.Length, t.Handle)
		}
	}
	for i := range writes {
		segments("write", &writes[i])
	}
	if reply.Present {
		segments("reply", &reply.Value)
	}
}

// content appends the kind of the RPC message.
func content(s *strings.Builder, d *xdr.Decoder) {
	var m oncrpc.Message
	if m.DecodeXDR(d) != nil {
		s.WriteString("; not a whole RPC message")
		return
	}
	switch m.Body.Type {
	case oncrpc.Call:
		c := &m.Body.Call
		fmt.Fprintf(s, "; CALL of program %d version %d procedure %d", c.Prog, c.Vers, c.Proc)
	case oncrpc.Reply:
		what := "success"
		if err := oncrpc.CheckReply(&m, m.XID); err != nil {
			what = err.Error()
		}
		fmt.Fprintf(s, "; REPLY: %s", what)
	}
}
