package rdmaiotest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// oracle sees each event of both devices as it comes. It has a [Ledger] for each end of a
// connection, with a ledger2 for version 2, and these rules besides:
//
//   - a key in a header is live, has the one right that its chunk needs, covers its segment, and is
//     of no other RPC (R304)
//   - a peer invalidates no key but those that it was given, and no key is live when all
//     connections are closed (R285)
//   - each header received has at most one answer, and an RDMA_ERROR has none
//   - memory that was never filled is not sent (T85): see poison
//
// The queue pairs and keys of raw peers are exempt. The test fails at its end with the first rule
// that was broken.
type oracle struct {
	mu      sync.Mutex
	legacy  bool // RDMA_NOMSG with a read list from the side that accepted is a Reply
	ledgers map[object]*Ledger
	keys    map[object]*liveKey
	// offered has all keys that ever were: a Call whose connection ends invalidates its keys before
	// it hears that the peer did so.
	offered map[object]bool
	// ended has the numbers of the events that invalidated keys. A Call of version 2 that is
	// cancelled while it is being continued goes on, and offers keys that could not be redirected
	// and are invalid by then.
	ended               map[object]uint64
	exemptQPs, exempted map[object]bool // of raw peers: queue pairs, keys
	first               error

	progressed atomic.Int64
}

// object is a queue pair or a key of a device.
type object struct {
	device string
	number uint32
}

type liveKey struct {
	access  verbs.Access
	at, end uint64
	qp, xid uint32 // of the RPC that uses it
	used    bool
	moved   bool // it no longer stands for its owner's memory
}

func newOracle() *oracle {
	return &oracle{
		ledgers: make(map[object]*Ledger), keys: make(map[object]*liveKey), offered: make(map[object]bool), ended: make(map[object]uint64),
		exemptQPs: make(map[object]bool), exempted: make(map[object]bool),
	}
}

// fail keeps the first error. o.mu must be held.
func (o *oracle) fail(err error) {
	if err != nil && o.first == nil {
		o.first = err
	}
}

func (o *oracle) exempt(set map[object]bool, device string, number uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	set[object{device, number}] = true
}

func (o *oracle) event(e *trace.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.check(e); err != nil {
		o.fail(fmt.Errorf("event %d of %s: %w", e.Seq, e.Device, err))
	}
}

func (o *oracle) check(e *trace.Event) error {
	if e.QP != 0 && o.exemptQPs[object{e.Device, e.QP}] {
		return nil
	}
	key := object{e.Device, e.RKey}
	switch e.Kind {
	case trace.Register, trace.Reregister:
		if e.Err == nil && e.Access.Remote() {
			o.offered[key] = true
			o.keys[key] = &liveKey{access: e.Access, at: e.RemoteAddr, end: e.RemoteAddr + uint64(e.Length)}
		}
		return nil
	case trace.Redirect:
		if k := o.keys[key]; k != nil && e.Err == nil {
			k.moved = true
		}
		return nil
	case trace.Invalidate, trace.Deregister:
		if e.Err == nil {
			delete(o.keys, key)
			o.ended[key] = e.Seq
		}
		return nil
	}
	if e.QP == 0 {
		return nil
	}
	l := o.ledgers[object{e.Device, e.QP}]
	if l == nil {
		l = newLedger()
		l.lenient = true
		o.ledgers[object{e.Device, e.QP}] = l
	}
	l.legacy = o.legacy
	if done, err := o.check2(e, l); done || err != nil {
		return err
	}
	switch {
	case e.Kind == trace.Accept:
		l.accepted = true
	case e.Kind == trace.Complete && e.Status == verbs.StatusSuccess && e.InvalidateRKey != 0:
		if err := o.invalidated(e); err != nil {
			return err
		}
	case IsSend(e):
		m, err := peertest.Parse(e.Head)
		if err != nil {
			return fmt.Errorf("R13: a message without a good header, %x: %w", e.Head, err)
		}
		if l.kind(&m, l.accepted) == peertest.Call {
			if err := o.checkKeys(e, e.Seq, &m); err != nil {
				return fmt.Errorf("%w, in %v", err, m)
			}
		}
	}
	return l.event(e)
}

// invalidated takes a key that the peer invalidated.
func (o *oracle) invalidated(e *trace.Event) error {
	k := object{e.Device, e.InvalidateRKey}
	if !o.offered[k] {
		return fmt.Errorf("the peer invalidated key %#x, which it was not given", e.InvalidateRKey)
	}
	delete(o.keys, k)
	return nil
}

// check2 checks a message of version 2. It reports false if the ledger of version 1 must see the
// event, too.
func (o *oracle) check2(e *trace.Event, l *Ledger) (done bool, err error) {
	received := e.Kind == trace.Complete && e.Status == verbs.StatusSuccess && e.WCOpcode == verbs.WCRecv
	switch {
	case !received && !IsSend(e):
		return false, nil
	case version(e.Head) != 2:
		if received && l.two != nil {
			l.two.received(e.Head)
		}
		return false, nil
	}
	if l.two == nil {
		l.two = newLedger2(l.accepted)
	}
	if received {
		if l.two.received(e.Head); !l.two.begun {
			return false, nil
		}
		if l.receives--; e.InvalidateRKey != 0 {
			err = o.invalidated(e)
		}
		return true, err
	}
	if l.two.refusesVersion(e.Head) {
		return false, nil
	}
	began := e.Seq
	if l.two.open != nil { // this is a part of it
		began = l.began
	}
	if err := l.two.sent(e.Head, e.Length, l.receives); err != nil {
		return true, err
	}
	l.began = began
	m, err := peer2.Parse([]byte(e.Head))
	if err == nil && m.IsCall() {
		err = o.checkKeys(e, began, &peertest.Message{XID: m.XID, Reads: m.Reads, Writes: m.Writes, ReplyChunk: m.Reply})
	}
	return true, err
}

// checkKeys checks the keys that a Call offers. began is the number of the event with which its
// first message was posted.
func (o *oracle) checkKeys(e *trace.Event, began uint64, m *peertest.Message) error {
	for _, s := range m.Reads {
		if err := o.checkKey(e, began, m.XID, s, verbs.AccessRemoteRead, verbs.AccessRemoteWrite); err != nil {
			return err
		}
	}
	for _, chunk := range append(m.Writes, m.ReplyChunk) {
		for _, s := range chunk {
			if err := o.checkKey(e, began, m.XID, s, verbs.AccessRemoteWrite, verbs.AccessRemoteRead); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *oracle) checkKey(e *trace.Event, began uint64, xid uint32, s peertest.Segment, need, not verbs.Access) error {
	k := o.keys[object{e.Device, s.Key}]
	switch {
	case s.Length == 0:
	case k == nil && o.ended[object{e.Device, s.Key}] > began: // see oracle.ended
	case k == nil:
		return fmt.Errorf("the Call %#x offers key %#x, which is not live", xid, s.Key)
	case k.access&need == 0 || k.access&not != 0:
		return fmt.Errorf("R304: the Call %#x offers key %#x with rights %v", xid, s.Key, k.access)
	case s.Addr < k.at || s.Addr+uint64(s.Length) > k.end:
		return fmt.Errorf("the Call %#x offers %d bytes at %#x by key %#x, which covers %#x to %#x", xid, s.Length, s.Addr, s.Key, k.at, k.end)
	case k.used && (k.xid != xid || k.qp != e.QP):
		return fmt.Errorf("the Calls %#x and %#x offer the same key %#x", k.xid, xid, s.Key)
	default:
		k.used, k.xid, k.qp = true, xid, e.QP
	}
	return nil
}

func (o *oracle) live(device string) (n, reaching int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for k, state := range o.keys {
		if k.device == device && !o.exempted[k] {
			n++
			if !state.moved {
				reaching++
			}
		}
	}
	return n, reaching
}

// result returns the first error, after all connections are closed.
func (o *oracle) result() error {
	for _, device := range []string{"client", "server"} {
		if n, _ := o.live(device); n > 0 {
			o.mu.Lock()
			o.fail(fmt.Errorf("%d keys of %s are live at the end", n, device))
			o.mu.Unlock()
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}
