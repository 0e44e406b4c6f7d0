package rdmaio_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// watch is an oracle that looks on at every test of this package: it takes the events of both devices as they come and
// holds them against rules that are always true, with a ledger for each connection. What it finds
// fails the test at its end. It knows the documents, and nothing of the engine. The rules, besides the ledger's:
//
//   - a key in a header is live, has the one right that its chunk needs, covers its segment, and is no other RPC's
//   - the peer ends no key but one that was given out, and none is live when all connections are closed (R285)
//   - each header received leads to one answer at most, and an ERROR to none
//   - memory that was never filled does not leave the host (T85): see poisoned
//
// The objects of raw peers are exempt.
type watch struct {
	mu     sync.Mutex
	legacy bool // NOMSG with a read list from the side that accepted is a Reply
	ends   map[end]*ledger
	keys   map[owned]*key
	given  map[owned]bool             // all that ever were: a Call whose connection goes ends its keys before it hears that the peer did
	exempt map[string]map[uint32]bool // by device: queue pairs; keys
	first  error
}

type end struct {
	device string
	qp     uint32
}

type owned struct {
	device string
	key    uint32
}

// key is a live one.
type key struct {
	access  verbs.Access
	at, end uint64
	qp, xid uint32 // of the RPC that offers it
	offered bool
	moved   bool // it no longer stands for its user's memory
}

func newWatch() *watch {
	return &watch{ends: make(map[end]*ledger), keys: make(map[owned]*key), given: make(map[owned]bool), exempt: make(map[string]map[uint32]bool)}
}

func (w *watch) fail(err error) {
	if err != nil && w.first == nil {
		w.first = err
	}
}

// event takes one.
func (w *watch) event(e *trace.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.look(e); err != nil {
		w.fail(fmt.Errorf("event %d of %s: %w", e.Seq, e.Device, err))
	}
}

func (w *watch) look(e *trace.Event) error {
	if e.QP != 0 && w.exempt[e.Device+" qp"][e.QP] {
		return nil
	}
	switch e.Kind {
	case trace.Register, trace.Reregister:
		if e.Err == nil && e.Access.Remote() {
			w.given[owned{e.Device, e.RKey}] = true
			w.keys[owned{e.Device, e.RKey}] = &key{access: e.Access, at: e.RemoteAddr, end: e.RemoteAddr + uint64(e.Length)}
		}
		return nil
	case trace.Redirect:
		if k := w.keys[owned{e.Device, e.RKey}]; k != nil && e.Err == nil {
			k.moved = true
		}
		return nil
	case trace.Invalidate, trace.Deregister:
		if e.Err == nil {
			delete(w.keys, owned{e.Device, e.RKey})
		}
		return nil
	}
	if e.QP == 0 {
		return nil
	}
	l := w.ends[end{e.Device, e.QP}]
	if l == nil {
		l = newLedger()
		l.lenient = true
		w.ends[end{e.Device, e.QP}] = l
	}
	l.legacy = w.legacy
	switch {
	case e.Kind == trace.Accept:
		l.accepted = true
	case e.Kind == trace.Complete && e.Status == verbs.StatusSuccess && e.InvalidateRKey != 0:
		k := owned{e.Device, e.InvalidateRKey}
		if !w.given[k] {
			return fmt.Errorf("key %#x, ended by the peer, was nobody's", e.InvalidateRKey)
		}
		delete(w.keys, k)
	case sends(e):
		m, err := parse(e.Head)
		if err != nil {
			return fmt.Errorf("R13: a message that has no good header, %x: %w", e.Head, err)
		}
		if l.kind(m, l.accepted) == "Call" {
			if err := w.offers(e, m); err != nil {
				return err
			}
		}
	}
	return l.event(e)
}

// offers looks at the keys of a Call.
func (w *watch) offers(e *trace.Event, m message) error {
	for _, s := range m.segments {
		k := w.keys[owned{e.Device, s.key}]
		need, not := verbs.AccessRemoteWrite, verbs.AccessRemoteRead
		if s.read {
			need, not = not, need
		}
		switch {
		case s.n == 0:
		case k == nil:
			return fmt.Errorf("Call %#x offers key %#x, which is not live", m.xid, s.key)
		case k.access&need == 0 || k.access&not != 0:
			return fmt.Errorf("R304: Call %#x offers key %#x with rights %v", m.xid, s.key, k.access)
		case s.at < k.at || s.at+uint64(s.n) > k.end:
			return fmt.Errorf("Call %#x offers %d bytes at %#x by key %#x, which has %#x to %#x", m.xid, s.n, s.at, s.key, k.at, k.end)
		case k.offered && (k.xid != m.xid || k.qp != e.QP):
			return fmt.Errorf("Calls %#x and %#x offer the same key %#x", k.xid, m.xid, s.key)
		default:
			k.offered, k.xid, k.qp = true, m.xid, e.QP
		}
	}
	return nil
}

// live is how many keys of a device there are, and reaching is how many of them stand for the memory of a Call, not for
// what it was exchanged for.
func (w *watch) live(device string) (n, reaching int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, state := range w.keys {
		if k.device == device && !w.exempt[device+" key"][k.key] {
			n++
			if !state.moved {
				reaching++
			}
		}
	}
	return n, reaching
}

// result is what was found, when all is over.
func (w *watch) result() error {
	for _, device := range []string{"client", "server"} {
		if n, _ := w.live(device); n > 0 {
			w.fail(fmt.Errorf("%d keys of %s are live at the end", n, device))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first
}

// poison is what memory from Alloc has in it until somebody fills it: so it is seen if it is sent (T85).
var poison = []byte{0xdb, 0x5e, 0xed, 0x0b, 0xad, 0xca, 0xfe, 0x99}

// watched is a device whose memory is poisoned, and which looks at what is sent. It tells a watch of raw peers.
type watched struct {
	verbs.Device
	w    *watch
	name string
}

func (d watched) set(kind string, n uint32) {
	d.w.mu.Lock()
	defer d.w.mu.Unlock()
	m := d.w.exempt[d.name+kind]
	if m == nil {
		m = make(map[uint32]bool)
		d.w.exempt[d.name+kind] = m
	}
	m[n] = true
}

func (d watched) ExemptQP(num uint32)  { d.set(" qp", num) }
func (d watched) ExemptKey(key uint32) { d.set(" key", key) }

func (d watched) AllocPD() (verbs.ProtectionDomain, error) {
	pd, err := d.Device.AllocPD()
	if err != nil {
		return nil, err
	}
	return watchedPD{pd, d.w}, nil
}

func (d watched) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return d.Device.Dial(ctx, addr, inner(qp), params)
}

func (d watched) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	ln, err := d.Device.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	return watchedListener{ln}, nil
}

type watchedListener struct{ verbs.Listener }

func (l watchedListener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	r, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return watchedRequest{r}, nil
}

type watchedRequest struct{ verbs.ConnRequest }

func (r watchedRequest) Accept(ctx context.Context, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return r.ConnRequest.Accept(ctx, inner(qp), params)
}

type watchedPD struct {
	verbs.ProtectionDomain
	w *watch
}

func (p watchedPD) Alloc(n int) ([]byte, error) {
	b, err := p.ProtectionDomain.Alloc(n)
	for i := range b {
		b[i] = poison[i%len(poison)]
	}
	return b, err
}

func (p watchedPD) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	qp, err := p.ProtectionDomain.CreateQP(cfg)
	if err != nil {
		return nil, err
	}
	return &watchedQP{qp, p.w}, nil
}

type watchedQP struct {
	verbs.QueuePair
	w *watch
}

func (q *watchedQP) DisconnectFor(reason verbs.DisconnectReason) error {
	return verbs.Disconnect(q.QueuePair, reason)
}

func inner(qp verbs.QueuePair) verbs.QueuePair {
	if q, ok := qp.(*watchedQP); ok {
		return q.QueuePair
	}
	return qp
}

func (q *watchedQP) PostSend(wrs []verbs.SendWR) (int, error) {
	for i := range wrs {
		if op := wrs[i].Opcode; op == verbs.RDMARead || op == verbs.LocalInvalidate {
			continue
		}
		for _, s := range wrs[i].SGL {
			if err := clean(s); err != nil {
				q.w.mu.Lock()
				q.w.fail(fmt.Errorf("queue pair %d: %v: %w", q.Num(), wrs[i].Opcode, err))
				q.w.mu.Unlock()
			}
		}
	}
	return q.QueuePair.PostSend(wrs)
}

// clean looks for poison in what is about to leave.
func clean(s verbs.SGE) error {
	if s.MR == nil || s.Length == 0 {
		return nil
	}
	b := s.MR.Bytes()
	if s.Offset < 0 || s.Length < 0 || s.Offset > len(b) || s.Length > len(b)-s.Offset {
		return nil // the provider's to refuse
	}
	if at := bytes.Index(b[s.Offset:][:s.Length], poison); at >= 0 {
		return fmt.Errorf("T85: byte %d of %d, and those behind it, were never filled", at, s.Length)
	}
	return nil
}
