package cancel

import (
	"errors"
	"slices"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// Outbox has the XIDs of Calls that were given up on one connection, until they are sent. At
// most one Call of the program is in progress at a time, so it slows down nothing else.
//
//	      Next                      Answered: SUCCESS
//	idle ──────> CANCEL in progress ─────────────────> idle
//	                    └── Answered: anything else ─> off, as long as the connection lives
type Outbox struct {
	xids  []uint32 // oldest first
	asked bool     // a CANCEL is in progress
	off   bool     // the peer does not have the program
}

// mostWaiting is the largest number of XIDs in an Outbox. Beyond it the oldest is forgotten.
const mostWaiting = 16 * MaxXIDs

// Add adds the XID of a Call that was sent and given up.
func (o *Outbox) Add(xid uint32) {
	if o.off {
		return
	}
	if len(o.xids) == mostWaiting {
		o.xids = slices.Delete(o.xids, 0, 1)
	}
	o.xids = append(o.xids, xid)
}

// Forget removes an XID, because a further Call is about to have it.
func (o *Outbox) Forget(xid uint32) {
	if len(o.xids) > 0 {
		o.xids = slices.DeleteFunc(o.xids, func(x uint32) bool { return x == xid })
	}
}

// Waiting reports whether Next would return a Call.
func (o *Outbox) Waiting() bool { return len(o.xids) > 0 && !o.asked && !o.off }

// Next returns the Call to send now, with the given XID, or nil. Answered must follow.
func (o *Outbox) Next(xid uint32) []byte {
	if !o.Waiting() {
		return nil
	}
	some := XIDs(o.xids[:min(len(o.xids), MaxXIDs)])
	call := oncrpc.NewCall(xid, Program, ProgramV1, ProcCalls, oncrpc.None())
	b, _ := call.AppendBinary(nil) // cannot fail
	b, _ = some.AppendBinary(b)    // cannot fail
	o.xids, o.asked = slices.Delete(o.xids, 0, len(some)), true
	return b
}

// Answered takes the reply to the Call with that XID. Any answer but success means that the peer
// does not have the program. It reports whether the peer has it.
func (o *Outbox) Answered(xid uint32, reply []byte) bool {
	o.asked = false
	d := xdr.NewDecoder(reply, nil)
	var head oncrpc.Header
	if err := errors.Join(head.DecodeXDR(d), d.Done()); err != nil || oncrpc.CheckReply(&head, xid) != nil {
		o.off, o.xids = true, nil
	}
	return !o.off
}
