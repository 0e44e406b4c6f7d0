package sim

import (
	"maps"
	"slices"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/cancel"
)

// given are the Calls of an end that were given up while their handlers may run. CANCELs, Calls of
// the product's program (package cancel), name them to the peer, as rdmaio.Conn does.
//
//	client                               server
//	  given up ──> outbox ──> CANCEL ──────> serve: Requests of this connection alone
//	                  ▲                        │
//	                  └─────── answered <──────┘
type given struct {
	e      *end
	outbox cancel.Outbox
	off    bool            // the peer has refused a CANCEL
	asked  *engine.Call    // a CANCEL without an answer
	told   map[uint32]bool // XIDs that were given up here
	got    map[uint32]bool // XIDs that the peer has cancelled
}

// add adds a Call that was given up.
func (g *given) add(xid uint32) {
	if e := g.e; e.i == 1 || e.gone {
		return
	}
	g.told[xid] = true
	if !g.e.w.cfg.Bugs.CancelOnce || g.asked == nil {
		g.outbox.Add(xid)
	}
	g.e.w.after(0, g.e.name+" sends a CANCEL", g.tell)
}

// tell sends a CANCEL, if there are Calls to name.
func (g *given) tell() {
	e := g.e
	if e.gone || !g.outbox.Waiting() {
		return
	}
	e.w.calls.xids[0]++
	xid := e.w.calls.xids[0]
	g.asked = &engine.Call{XID: xid, Payload: [][]byte{g.outbox.Next(xid)}, Owner: g}
	e.step(engine.Event{Kind: engine.EventCall, Call: g.asked})
}

// answered takes the answer to a CANCEL, or its failure.
func (g *given) answered(c *engine.Call) {
	has := g.outbox.Answered(c.XID, c.Reply)
	g.asked, g.off = nil, g.off || c.Err != nil || !has
	g.verdict()
	g.e.w.after(0, g.e.name+" sends a CANCEL", g.tell)
}

// serve answers a CANCEL of the peer.
func (g *given) serve(q *engine.Request) {
	e := g.e
	reply := cancel.Serve(q.Message, func(xids []uint32) {
		if e.w.cfg.Bugs.CancelAll {
			xids = slices.Sorted(maps.Keys(e.w.calls.byXID[0]))
		}
		for _, xid := range xids {
			g.got[xid] = true
			for r := range e.requests {
				if r.XID == xid {
					g.cancel(xid)
				}
			}
		}
	})
	e.w.after(0, e.name+" answers a CANCEL", func() { e.answer(q, engine.Answer{Payload: [][]byte{reply}}) })
}

// cancel cancels the context of a Request.
func (g *given) cancel(xid uint32) {
	w := g.e.w
	w.tally.cancelled++
	if p := w.calls.byXID[0][xid]; p != nil && p.givenUp == "" && p.outcome == "" {
		w.fail("%s cancels RPC %d, whose caller waits for it", g.e.name, p.tag)
	}
}

// verdict checks that the peer knows all Calls that were given up, unless the end is about to
// send a CANCEL.
func (g *given) verdict() {
	e := g.e
	if e.i == 1 || e.gone || g.off || g.asked != nil || g.outbox.Waiting() {
		return
	}
	for xid := range g.told {
		if !e.peer.given.got[xid] {
			e.w.fail("%s does not know that Calls of %s are given up, such as %#x", e.peer.name, e.name, xid)
			return
		}
	}
}
