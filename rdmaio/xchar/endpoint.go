package xchar

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/gen/rpcrdma2"
	wire "github.com/rpcrdma/rpcrdma/gen/xchar"
	"github.com/rpcrdma/rpcrdma/gen/xcharcarrier"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Limits on the memory and the work that an Endpoint spends.
const (
	// MaxRequests is the most requests that this endpoint may have unanswered or pending.
	MaxRequests = 16

	// MaxElements is the number of values in a REQ of the peer. The RESP to so many fits a Receive
	// of 1024 bytes.
	MaxElements = 1024
)

// Endpoint is one side of the extension on one connection. It does no I/O, and is not safe for
// concurrent use: the connection calls it under its own lock, in the order in which messages arrive
// and are sent. It retains nothing of a message.
type Endpoint struct {
	cfg      Config
	own      [slots]own
	peer     [slots]peer
	raise    raise
	requests []request // oldest first, at most MaxRequests
	initXID  uint32
	initSent bool // and not answered with an error
	initGot  bool
	absent   bool // the peer does not support the extension, or not REQ
	stats    Stats
}

// New returns an Endpoint for a connection on which no message of the extension was exchanged.
func New(cfg *Config) (*Endpoint, error) {
	e := &Endpoint{}
	if cfg != nil {
		e.cfg = *cfg
	}
	if err := e.cfg.check(); err != nil {
		return nil, err
	}
	if e.cfg.Local.ReceiveSize == 0 {
		e.cfg.Local.ReceiveSize = DefaultReceiveSize
	}
	if e.cfg.Policy == nil {
		e.cfg.Policy = RejectAll{}
	}
	for s, word := range e.cfg.Local.words() {
		e.own[s].word = word
	}
	for _, id := range e.cfg.Fixed {
		s, _ := slotOf(id)
		e.own[s].fixed = true
	}
	for s, word := range Defaults().words() {
		e.peer[s].word = word
	}
	return e, nil
}

// Init returns the message that describes this endpoint to its peer. The connection sends it as its
// first message of version 2, once (section 4.1). It fits the smallest Receive of any peer.
func (e *Endpoint) Init(xid uint32) Message {
	// draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §4.1; R243, R254
	e.initXID, e.initSent = xid, true
	var op wire.Init
	for s := range e.own {
		op.Start = append(op.Start, slot(s).value(e.own[s].word).wire())
		if e.own[s].fixed {
			op.NoChange = add(op.NoChange, s)
		}
	}
	return message(xid, xcharcarrier.XIDOfSender, wire.OpInit, &op)
}

// Receive takes a message of the peer: its transaction ID and the body of its header type.
func (e *Endpoint) Receive(xid uint32, h *xcharcarrier.Optional) Effects {
	var out Effects
	switch h.Op {
	case wire.OpInit:
		out.Fault = e.receiveInit(h, &out)
	case wire.OpReq:
		out.Fault = e.receiveReq(xid, h, &out)
	case wire.OpResp:
		out.Fault = e.receiveResp(xid, h, &out)
	case wire.OpUpd:
		out.Fault = e.receiveUpd(h, &out)
	default: // draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §4; R252
		// INVAL_OPTION of the older version 2 has the number of INVAL_HTYPE.
		out.Fault = fault(rpcrdma2.ErrInvalHtype, "header", fmt.Errorf("operation is %d, expected 1 to 4 (section 4, table 2)", h.Op))
	}
	if out.Fault != nil {
		e.stats.Faults++
		if h.Direction == xcharcarrier.XIDOfReceiver { // R193: a requester sends no ERROR.
			out.Fault.Code = 0
		}
	}
	return out
}

// Own returns the characteristics that this endpoint has announced to the peer.
func (e *Endpoint) Own() Characteristics {
	var words [slots]uint32
	for s := range e.own {
		words[s] = e.own[s].word
	}
	return characteristics(words)
}

// Peer returns the characteristics of the peer, or their defaults.
func (e *Endpoint) Peer() Characteristics {
	var words [slots]uint32
	for s := range e.peer {
		words[s] = e.peer[s].word
	}
	return characteristics(words)
}

// Stats returns the counters.
func (e *Endpoint) Stats() Stats { return e.stats }

// message returns an operation as a message.
func message(xid uint32, dir xcharcarrier.Direction, op uint32, body xdr.Value) Message {
	// Encoding fails only over a bound of 4 GiB: a RESP has at most MaxElements bits.
	enc := xdr.NewEncoder(nil)
	_ = body.EncodeXDR(enc)
	return Message{xid, xcharcarrier.Optional{Direction: dir, Op: op, Info: enc.Bytes()}}
}

// open checks direction and encoding of an operation.
func open(h *xcharcarrier.Optional, dir xcharcarrier.Direction, name string, op xdr.Checkable) *Fault {
	if h.Direction != dir {
		return fault(rpcrdma2.ErrBadXDR, name, fmt.Errorf("direction is %v, expected %v", h.Direction, dir))
	}
	if err := check(op, h.Info); err != nil { // draft-dnoveck-nfsv4-rpcrdma-xcharext-01 §2.1; R232
		return fault(rpcrdma2.ErrBadXDR, name, err)
	}
	return nil
}
