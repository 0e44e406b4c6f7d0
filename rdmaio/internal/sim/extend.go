package sim

import (
	"encoding/binary"
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/engine"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// extension is an extension of version 2 at one end: numbered messages, with which the ends agree
// on the size of Receives while Calls are in progress, as package xchar does.
//
//	this end                                    its peer
//	  cut:    smaller ── keep ────────────────> it sends nothing longer
//	          Receives are cut <─────── kept ──────┘
//	  raise:  larger Receives; when no smaller one is posted
//	            └──────── send ───────────────> it may send so much
type extension struct {
	e     *end
	sent  uint32   // messages
	size  int      // of Receives; 0: as they were posted first
	asked int      // the size in a keep without an answer
	raise bool     // smaller Receives than size are posted
	came  []func() // what messages ask for, in their order
}

// extType is the header type of the messages. The payload of each has its number, an operation and
// a size.
const extType = 0x7700

// The operations.
const (
	extKeep uint32 = iota // send nothing longer than this
	extKept               // so it is
	extSend               // you may send so much
)

// types is v2.Config.Types.
func types(htype uint32) (uint32, bool) { return 0, htype == extType }

// begin changes the size of this end's Receives, unless it is being changed.
func (x *extension) begin() {
	e := x.e
	most := int(e.w.versions.own[e.i].ReceiveSize)
	if !e.w.versions.is2() || e.gone || x.asked != 0 || x.raise || e.i == 0 && !e.dialled || e.i == 1 && !e.heard {
		return
	}
	if x.size == 0 {
		x.size = most
	}
	switch n := v2.LeastInline + e.w.rng.IntN(most-v2.LeastInline+1)&^3; {
	case n < x.size:
		x.asked = n
		if x.send(extKeep, n); e.w.cfg.Bugs.CutEarly {
			x.resize(n)
		}
	case n > x.size:
		x.raise = true
		x.resize(n)
	}
}

// resize changes the size with which Receives are posted from now on.
func (x *extension) resize(n int) {
	x.size = n
	x.e.step(engine.Event{Kind: engine.EventReceiveSize, Control: &engine.Control{Size: n}})
}

// resized is called when no smaller Receive is posted.
func (x *extension) resized(n int) {
	if n == x.size && x.raise {
		x.raise = false
		x.send(extSend, n)
	}
}

// stream names the direction from an end, for the log.
func (e *end) stream() string { return fmt.Sprintf("%s to %s", e.name, e.peer.name) }

// send sends a message.
func (x *extension) send(op uint32, n int) {
	e := x.e
	x.sent++
	b := binary.BigEndian.AppendUint32(nil, x.sent)
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, op), uint32(n))
	e.w.log.Sent(e.stream(), uint64(x.sent))
	e.step(engine.Event{Kind: engine.EventOther, Control: &engine.Control{Other: engine.Other{XID: x.sent, Type: extType, Payload: b}}})
}

// receive takes a message.
func (x *extension) receive(o *engine.Other) {
	e := x.e
	if len(o.Payload) != 12 || o.Unsent != nil {
		e.w.fail("%s: a message of the extension: %+v", e.name, o)
		return
	}
	e.w.tally.others++
	e.w.log.Got(e.peer.stream(), uint64(binary.BigEndian.Uint32(o.Payload)))
	op, n := binary.BigEndian.Uint32(o.Payload[4:]), int(binary.BigEndian.Uint32(o.Payload[8:]))
	x.came = append(x.came, func() {
		switch {
		case e.gone:
		case op == extKept:
			x.asked = 0
			x.resize(n)
		case op == extKeep, op == extSend:
			e.step(engine.Event{Kind: engine.EventSendSize, Control: &engine.Control{Size: n}})
			e.link.inline[e.i] = min(n, e.w.draw.inline[e.i])
			if op == extKeep {
				x.send(extKept, n)
			}
		}
	})
	e.w.after(0, e.name+" takes a message of the extension", func() {
		next := x.came[0]
		x.came = x.came[1:]
		next()
	})
}
