package nfs4

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/maphash"
	"sync"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"
	"github.com/rpcrdma/rpcrdma/nfs/gen/nfs42/nfs42rpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Callbacks handles the server's callbacks. Its methods are called concurrently, and copy what they
// keep of their arguments. While one blocks, its slot of the backchannel has no other callback, and
// over RDMA it holds a credit: answer a recall before the delegation is returned.
type Callbacks interface {
	// Recall is asked to return a delegation by Compound.DelegReturn (RFC 8881 §20.2).
	// nfs42.StatusBadStateid says that the client holds no such state ID.
	Recall(ctx context.Context, args *nfs42.CBRecallArgs) nfs42.Status

	// GetAttr returns the size and change attributes of a file that the client has a delegation to
	// write (RFC 8881 §20.1). nfs42.StatusBadhandle says that it holds no such delegation.
	GetAttr(ctx context.Context, args *nfs42.CBGetAttrArgs) (nfs42.Fattr, nfs42.Status)

	// RecallAny is asked to keep less state (RFC 8881 §20.6). The client chooses what it returns.
	RecallAny(ctx context.Context, args *nfs42.CBRecallAnyArgs) nfs42.Status
}

// backchannel serves callbacks.
type backchannel struct {
	s    *Session
	seed maphash.Seed

	mu    sync.Mutex
	table *backTable // of the live session, or nil
}

// backTable is the slot table of a session's backchannel. backchannel.mu guards the slots.
type backTable struct {
	at    *session
	slots [backSlots]backSlot
}

// backSlot is a slot, with the reply to its last callback (RFC 8881 §2.10.6.1).
type backSlot struct {
	seq   nfs42.SequenceID
	sum   uint64              // of the callback
	reply nfs42.CBCompoundRes // to it
	busy  bool                // it is being executed
}

func newBackchannel(s *Session) *backchannel {
	return &backchannel{s: s, seed: maphash.MakeSeed()}
}

// begin serves callbacks of a new session.
func (b *backchannel) begin(at *session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.table = &backTable{at: at}
}

// handler returns the handler of callbacks.
func (b *backchannel) handler() oncrpc.Handler {
	service := rpc.NewService(nfs42rpc.CallbackProgram())
	service.SetProgram(b.s.cfg.program)
	rpc.Handle(service, nfs42.CallbackCompound, b.compound)
	return rpc.NewHandler(nil, service)
}

// callback is the arguments of CB_COMPOUND. Unlike package nfs42's, it has the operations before an
// unknown one.
type callback struct {
	body    []byte // all of it
	tag     nfs42.UTF8CS
	minor   uint32
	ops     []nfs42.CBArgOp
	count   uint32 // operations that were sent
	illegal bool   // one after ops is unknown
}

// XDRSize implements xdr.Value. Callbacks are only read.
func (c *callback) XDRSize() int { return 0 }

// EncodeXDR implements xdr.Value. It is not called: callbacks are only decoded.
func (c *callback) EncodeXDR(*xdr.Encoder) error { return errDirection }

// DecodeXDR reads CB_COMPOUND up to an unknown operation, or to more than the client allows.
func (c *callback) DecodeXDR(d *xdr.Decoder) error {
	*c = callback{body: d.Rest(), ops: c.ops[:0]}
	if err := c.tag.DecodeXDR(d); err != nil {
		return err
	}
	b, err := d.Next(12)
	if err != nil {
		return err
	}
	c.minor, c.count = binary.BigEndian.Uint32(b[0:4]), binary.BigEndian.Uint32(b[8:12])
	for range min(c.count, backOps) {
		if b = d.Rest(); len(b) < 4 {
			return violation("a callback of %d operations that ends after %d (RFC 8881 §20.12)", c.count, len(c.ops))
		}
		if op := nfs42.CBOp(binary.BigEndian.Uint32(b)); op < nfs42.CBOpGetAttr || op > nfs42.CBOpOffload {
			c.illegal = true
			break
		}
		c.ops = append(c.ops, nfs42.CBArgOp{})
		if err := c.ops[len(c.ops)-1].DecodeXDR(d); err != nil {
			return err
		}
	}
	if c.illegal || c.count > backOps {
		_, err = d.Next(len(d.Rest())) // nothing says where an unknown operation ends
	}
	return err
}

// compound serves CB_COMPOUND.
func (b *backchannel) compound(r *rpc.Request, args *callback, res *nfs42.CBCompoundRes) error {
	res.Tag = bytes.Clone(args.tag)
	switch {
	case args.minor != b.s.cfg.Minor:
		res.Status = nfs42.StatusMinorVersMismatch
		return nil
	case len(args.ops) == 0 && args.illegal:
		answer(res, cbResult(nfs42.CBOpIllegal, nfs42.StatusOpIllegal))
		return nil
	case len(args.ops) == 0:
		return nil
	case args.ops[0].Op != nfs42.CBOpSequence: // RFC 8881 §20.9.3
		answer(res, cbResult(args.ops[0].Op, nfs42.StatusOpNotInSession))
		return nil
	}
	seq := args.ops[0].Sequence
	sum := maphash.Bytes(b.seed, args.body)
	table, status := b.enter(r.Context(), seq, sum, args.count, res)
	if table == nil {
		if status != nfs42.StatusOK {
			answer(res, cbResult(nfs42.CBOpSequence, status))
		}
		return nil
	}
	kept := nfs42.CBCompoundRes{} // after a panic of Callbacks nothing is kept
	defer func() { b.leave(table, seq.SlotID, &kept) }()
	first := cbResult(nfs42.CBOpSequence, nfs42.StatusOK)
	first.Sequence.OK = nfs42.CBSequenceResOK{
		SessionID: seq.SessionID, SequenceID: seq.SequenceID, SlotID: seq.SlotID, HighestSlotID: backSlots - 1, TargetHighestSlotID: backSlots - 1,
	}
	answer(res, first)
	for i := 1; i < len(args.ops) && res.Status == nfs42.StatusOK; i++ {
		answer(res, b.operation(r.Context(), table.at, &args.ops[i]))
	}
	if args.illegal && res.Status == nfs42.StatusOK {
		answer(res, cbResult(nfs42.CBOpIllegal, nfs42.StatusOpIllegal))
	}
	kept = *res
	return nil
}

// referredWait is the longest time that a callback waits for replies that it refers to.
const referredWait = 5 * time.Second

// enter checks CB_SEQUENCE, and takes the slot (RFC 8881 §20.9.4). Without a table the answer is
// status. If that is OK, the answer is res, the former reply to the same callback.
func (b *backchannel) enter(ctx context.Context, seq *nfs42.CBSequenceArgs, sum uint64, count uint32, res *nfs42.CBCompoundRes) (*backTable, nfs42.Status) {
	b.mu.Lock()
	table := b.table
	b.mu.Unlock()
	if table == nil || table.at.id != seq.SessionID {
		return nil, nfs42.StatusBadsession
	}
	// RFC 8881 §2.10.6.3: the reply that gave what this callback is about may be on its way.
	wait, cancel := context.WithTimeout(ctx, referredWait)
	defer cancel()
	for _, list := range seq.ReferringCallLists {
		for _, call := range list.ReferringCalls {
			if list.SessionID == table.at.id && !table.at.slots.quiet(wait, call.SlotID, call.SequenceID) {
				return nil, nfs42.StatusDelay
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case seq.SlotID >= backSlots:
		return nil, nfs42.StatusBadslot
	case seq.HighestSlotID >= backSlots:
		return nil, nfs42.StatusBadHighSlot
	case count > backOps:
		return nil, nfs42.StatusTooManyOps
	}
	slot := &table.slots[seq.SlotID]
	switch {
	case seq.SequenceID == slot.seq && slot.busy:
		return nil, nfs42.StatusDelay
	case seq.SequenceID == slot.seq && len(slot.reply.ResArray) == 0, seq.SequenceID != slot.seq && seq.SequenceID != slot.seq+1, slot.busy:
		return nil, nfs42.StatusSeqMisordered
	case seq.SequenceID == slot.seq && sum != slot.sum:
		return nil, nfs42.StatusSeqFalseRetry
	case seq.SequenceID == slot.seq:
		*res = slot.reply
		return nil, nfs42.StatusOK
	}
	*slot = backSlot{seq: seq.SequenceID, sum: sum, busy: true}
	return table, nfs42.StatusOK
}

// leave keeps the reply, and frees the slot.
func (b *backchannel) leave(table *backTable, id nfs42.SlotID, res *nfs42.CBCompoundRes) {
	b.mu.Lock()
	defer b.mu.Unlock()
	slot := &table.slots[id]
	slot.reply, slot.busy = *res, false
}

// operation executes an operation of a callback.
func (b *backchannel) operation(ctx context.Context, at *session, op *nfs42.CBArgOp) nfs42.CBResOp {
	held := b.s.cfg.Callbacks
	switch op.Op {
	case nfs42.CBOpSequence:
		return cbResult(op.Op, nfs42.StatusSequencePos) // RFC 8881 §20.9.3
	case nfs42.CBOpRecall:
		if held == nil {
			return cbResult(op.Op, nfs42.StatusBadStateid)
		}
		return cbResult(op.Op, held.Recall(ctx, &op.Recall))
	case nfs42.CBOpGetAttr:
		if held == nil {
			return cbResult(op.Op, nfs42.StatusBadhandle)
		}
		attrs, status := held.GetAttr(ctx, &op.GetAttr)
		res := cbResult(op.Op, status)
		if status == nfs42.StatusOK {
			res.GetAttr.OK.ObjAttributes = attrs
		}
		return res
	case nfs42.CBOpRecallAny:
		if held == nil {
			return cbResult(op.Op, nfs42.StatusOK) // there is nothing to return
		}
		return cbResult(op.Op, held.RecallAny(ctx, &op.RecallAny))
	case nfs42.CBOpRecallSlot: // RFC 8881 §20.8
		if uint64(op.RecallSlot.TargetHighestSlotID) >= uint64(at.limits.Slots) {
			return cbResult(op.Op, nfs42.StatusBadHighSlot)
		}
		at.slots.target(op.RecallSlot.TargetHighestSlotID)
		return cbResult(op.Op, nfs42.StatusOK)
	case nfs42.CBOpLayoutRecall: // RFC 8881 §20.3.4: the client has no layouts
		return cbResult(op.Op, nfs42.StatusNomatchingLayout)
	case nfs42.CBOpPushDeleg: // RFC 8881 §20.5.4: the client has not asked for any
		return cbResult(op.Op, nfs42.StatusRejectDeleg)
	}
	return cbResult(op.Op, nfs42.StatusNotsupp) // the client has asked for none of these
}

// answer appends a result, whose status is the last one.
func answer(res *nfs42.CBCompoundRes, op nfs42.CBResOp) {
	res.ResArray = append(res.ResArray, op)
	res.Status = cbStatus(&res.ResArray[len(res.ResArray)-1])
}
