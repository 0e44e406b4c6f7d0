package rdmaiotest

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// poison fills memory from Alloc, so that memory which was never written is noticed when it is sent
// (T85).
var poison = []byte{0xdb, 0x5e, 0xed, 0x0b, 0xad, 0xca, 0xfe, 0x99}

// device poisons the memory that it allocates, and checks all memory that is sent.
type device struct {
	verbs.Device
	o    *oracle
	name string
}

// ExemptQP and ExemptKey are for raw peers, which break rules on purpose.
func (d device) ExemptQP(num uint32)  { d.o.exempt(d.o.exemptQPs, d.name, num) }
func (d device) ExemptKey(key uint32) { d.o.exempt(d.o.exempted, d.name, key) }

func (d device) AllocPD() (verbs.ProtectionDomain, error) {
	pd, err := d.Device.AllocPD()
	if err != nil {
		return nil, err
	}
	return domain{pd, d.o}, nil
}

func (d device) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return d.Device.Dial(ctx, addr, inner(qp), params)
}

func (d device) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	ln, err := d.Device.Listen(ctx, addr)
	if err != nil {
		return nil, err
	}
	return listener{ln}, nil
}

type listener struct{ verbs.Listener }

func (l listener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	r, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return connRequest{r}, nil
}

type connRequest struct{ verbs.ConnRequest }

func (r connRequest) Accept(ctx context.Context, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	return r.ConnRequest.Accept(ctx, inner(qp), params)
}

type domain struct {
	verbs.ProtectionDomain
	o *oracle
}

func (p domain) Alloc(n int) ([]byte, error) {
	b, err := p.ProtectionDomain.Alloc(n)
	for i := range b {
		b[i] = poison[i%len(poison)]
	}
	return b, err
}

func (p domain) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	qp, err := p.ProtectionDomain.CreateQP(cfg)
	if err != nil {
		return nil, err
	}
	return &queuePair{qp, p.o}, nil
}

type queuePair struct {
	verbs.QueuePair
	o *oracle
}

func (q *queuePair) ChannelBinding() (verbs.ChannelBinding, error) {
	return verbs.BindingOf(q.QueuePair)
}

func (q *queuePair) TLSState() (verbs.TLSState, error) { return verbs.TLSStateOf(q.QueuePair) }

func (q *queuePair) Progress(done func() bool) {
	asked, last := 0, false
	verbs.ProgresserOf(q.QueuePair).Progress(func() bool {
		asked++
		last = done()
		return last
	})
	if asked > 1 && last {
		q.o.progressed.Add(1)
	}
}

func (q *queuePair) Wake()   { verbs.ProgresserOf(q.QueuePair).Wake() }
func (q *queuePair) Resume() { verbs.ProgresserOf(q.QueuePair).Resume() }

func (q *queuePair) DisconnectFor(reason verbs.DisconnectReason) error {
	return verbs.Disconnect(q.QueuePair, reason)
}

func (q *queuePair) Probe(limit time.Duration) error { return verbs.Probe(q.QueuePair, limit) }

func (q *queuePair) Revoke(regions []verbs.MemoryRegion, done func(error)) error {
	r, ok := q.QueuePair.(verbs.Revoker)
	if !ok {
		return verbs.ErrNotSupported
	}
	return r.Revoke(regions, done)
}

// inner returns the provider's queue pair.
func inner(qp verbs.QueuePair) verbs.QueuePair {
	if q, ok := qp.(*queuePair); ok {
		return q.QueuePair
	}
	return qp
}

func (q *queuePair) PostSend(wrs []verbs.SendWR) (int, error) {
	for i := range wrs {
		if op := wrs[i].Opcode; op == verbs.RDMARead || op == verbs.LocalInvalidate {
			continue
		}
		for _, s := range wrs[i].SGL {
			if err := checkFilled(s); err != nil {
				q.o.mu.Lock()
				q.o.fail(fmt.Errorf("queue pair %d: %v: %w", q.Num(), wrs[i].Opcode, err))
				q.o.mu.Unlock()
			}
		}
	}
	return q.QueuePair.PostSend(wrs)
}

// checkFilled looks for poison in memory that is about to be sent.
func checkFilled(s verbs.SGE) error {
	if s.MR == nil || s.Length == 0 {
		return nil
	}
	b := s.MR.Bytes()
	if s.Offset < 0 || s.Length < 0 || s.Offset > len(b) || s.Length > len(b)-s.Offset {
		return nil // the provider refuses it
	}
	if at := bytes.Index(b[s.Offset:][:s.Length], poison); at >= 0 {
		return fmt.Errorf("T85: byte %d of %d and those after it were never written", at, s.Length)
	}
	return nil
}
