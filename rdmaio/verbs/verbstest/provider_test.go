package verbstest_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The mutants are provider mem with hooks.

func reverse(_ *queuePair, wrs []verbs.SendWR) (out []verbs.SendWR) {
	for i := range wrs {
		out = append(out, wrs[len(wrs)-1-i])
	}
	return out
}

// late delays requests of one kind until the next post.
func late(op verbs.Opcode) func(*queuePair, []verbs.SendWR) []verbs.SendWR {
	return func(q *queuePair, wrs []verbs.SendWR) []verbs.SendWR {
		if len(wrs) == 1 && wrs[0].Opcode == op && q.waiting == nil {
			q.waiting = wrs
			return nil
		}
		wrs = append(wrs, q.waiting...)
		q.waiting = nil
		return wrs
	}
}

// writesLast delays a Write until the next message was sent.
func writesLast(q *queuePair, wrs []verbs.SendWR) []verbs.SendWR {
	if len(wrs) == 1 && wrs[0].Opcode == verbs.RDMAWrite && q.waiting == nil {
		q.waiting, q.passed = wrs, false
		return nil
	}
	if !q.passed {
		q.passed = true
		return wrs
	}
	wrs = append(q.waiting, wrs...)
	q.waiting = nil
	return wrs
}

func swap(wcs []verbs.WC) {
	if len(wcs) > 1 {
		wcs[0], wcs[1] = wcs[1], wcs[0]
	}
}

func every(n int, change func(verbs.WC) []verbs.WC) func() func(verbs.WC) []verbs.WC {
	return func() func(verbs.WC) []verbs.WC {
		k := 0
		return func(wc verbs.WC) []verbs.WC {
			if k++; k%n == 0 {
				return change(wc)
			}
			return []verbs.WC{wc}
		}
	}
}

func status(s verbs.Status, change func(verbs.WC) []verbs.WC) func() func(verbs.WC) []verbs.WC {
	return func() func(verbs.WC) []verbs.WC {
		return func(wc verbs.WC) []verbs.WC {
			if wc.Status == s {
				return change(wc)
			}
			return []verbs.WC{wc}
		}
	}
}

func opcode(op verbs.WCOpcode, change func(*verbs.WC)) func() func(verbs.WC) []verbs.WC {
	return func() func(verbs.WC) []verbs.WC {
		return func(wc verbs.WC) []verbs.WC {
			if wc.Status == verbs.StatusSuccess && wc.Opcode == op {
				change(&wc)
			}
			return []verbs.WC{wc}
		}
	}
}

func shorten(wr *verbs.SendWR) {
	if n := len(wr.SGL); n > 0 && wr.SGL[n-1].Length > 100 {
		wr.SGL[n-1].Length--
	}
}

// dropEmpty drops messages of no bytes that have elements.
func dropEmpty(_ *queuePair, wrs []verbs.SendWR) (out []verbs.SendWR) {
	for _, wr := range wrs {
		total := 0
		for _, e := range wr.SGL {
			total += e.Length
		}
		if total > 0 || len(wr.SGL) == 0 {
			out = append(out, wr)
		}
	}
	return out
}

func firstOfRead(wr *verbs.SendWR) {
	if wr.Opcode == verbs.RDMARead {
		wr.SGL = wr.SGL[:1]
	}
}

var newest atomic.Uint32 // key, for anyKey

type device struct {
	verbs.Device
	f faults

	mu   sync.Mutex
	pd   verbs.ProtectionDomain // the one, for onePD
	used int
}

func (d *device) remove() {
	if !d.f.stays {
		d.Device.(*mem.Device).Remove()
	}
}

func (d *device) Attributes() verbs.DeviceAttributes {
	a := d.Device.Attributes()
	if d.f.noLimits {
		a.MaxReadSGE = 0
	}
	if d.f.misnamed {
		a.Addresses = verbs.AddressIP
	}
	return a
}

func (d *device) Resources() verbs.Resources {
	r := d.Device.Resources()
	if d.f.blind {
		r.MRs = 0
	}
	return r
}

func (d *device) AllocPD() (verbs.ProtectionDomain, error) {
	if d.f.goroutine {
		go func() { select {} }()
	}
	if !d.f.onePD {
		pd, err := d.Device.AllocPD()
		if err != nil {
			return nil, err
		}
		return &domain{ProtectionDomain: pd, d: d}, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.used == 0 {
		var err error
		if d.pd, err = d.Device.AllocPD(); err != nil {
			return nil, err
		}
	}
	d.used++
	return &domain{ProtectionDomain: d.pd, d: d}, nil
}

func (d *device) CreateCQ(entries int, notify func()) (verbs.CompletionQueue, error) {
	var n atomic.Int64
	told := func() {
		if k := n.Add(1); d.f.missNotify == 0 || k%int64(d.f.missNotify) != 0 {
			notify()
		}
	}
	if notify == nil {
		told = nil
	}
	cq, err := d.Device.CreateCQ(entries, told)
	if err != nil {
		return nil, err
	}
	w := &queue{CompletionQueue: cq, d: d}
	if d.f.wc != nil {
		w.change = d.f.wc()
	}
	return w, nil
}

func (d *device) Dial(ctx context.Context, addr string, qp verbs.QueuePair, p *verbs.ConnParams) (*verbs.ConnInfo, error) {
	if w, ok := qp.(*queuePair); ok {
		qp = w.QueuePair
	}
	info, err := d.Device.Dial(ctx, addr, qp, p)
	if err != nil && d.f.dialErr != nil {
		err = d.f.dialErr
	}
	if info != nil {
		info.PrivateData = info.PrivateData[:max(0, len(info.PrivateData)+d.f.private)]
		info.InitiatorDepth += d.f.depth
	}
	return info, err
}

func (d *device) Listen(ctx context.Context, addr string) (verbs.Listener, error) {
	l, err := d.Device.Listen(ctx, addr)
	if err != nil {
		if d.f.listenErr != nil {
			err = d.f.listenErr
		}
		return nil, err
	}
	return &listener{l, d.f}, nil
}

type listener struct {
	verbs.Listener
	f faults
}

func (l *listener) Close() error {
	if l.f.listens {
		return nil
	}
	return l.Listener.Close()
}

func (l *listener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	r, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return &request{r, l.f}, nil
}

type request struct {
	verbs.ConnRequest
	f faults
}

func (r *request) Reject(private []byte) error {
	return r.ConnRequest.Reject(private[:max(0, len(private)+r.f.private)])
}

// last is the request answered before this one, for mixed.
var last atomic.Pointer[request]

func (r *request) PrivateData() []byte {
	if r.f.mixed {
		if before := last.Swap(r); before != nil {
			return before.ConnRequest.PrivateData()
		}
	}
	return r.ConnRequest.PrivateData()
}

func (r *request) Accept(ctx context.Context, qp verbs.QueuePair, p *verbs.ConnParams) (*verbs.ConnInfo, error) {
	if w, ok := qp.(*queuePair); ok {
		qp = w.QueuePair
	}
	return r.ConnRequest.Accept(ctx, qp, p)
}

type domain struct {
	verbs.ProtectionDomain
	d      *device
	crooks map[*byte][]byte // what Free must be given
}

func (pd *domain) Alloc(n int) ([]byte, error) {
	if n < 1 {
		return pd.ProtectionDomain.Alloc(n)
	}
	if pd.d.f.crooked {
		buf, err := pd.ProtectionDomain.Alloc(n + 8)
		if err != nil {
			return nil, err
		}
		if pd.crooks == nil {
			pd.crooks = make(map[*byte][]byte)
		}
		pd.crooks[&buf[8]] = buf
		return buf[8:], nil
	}
	buf, err := pd.ProtectionDomain.Alloc(n + pd.d.f.slack)
	if errors.Is(err, verbs.ErrClosed) && pd.d.f.reopens {
		return make([]byte, n), nil
	}
	if err != nil {
		return nil, err
	}
	if pd.d.f.dirty {
		buf[n-1] = 1
	}
	return buf[:n], nil
}

func (pd *domain) Free(buf []byte) error {
	if whole := pd.crooks[&buf[:1][0]]; whole != nil {
		return pd.ProtectionDomain.Free(whole)
	}
	return pd.ProtectionDomain.Free(buf)
}

func (pd *domain) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	full := buf
	if s := pd.d.f.slack; s > 0 && cap(buf) >= len(buf)+s {
		full = buf[:len(buf)+s]
	}
	if change := pd.d.f.access; change != nil && access.Valid() && access != 0 {
		access = change(access)
	}
	if pd.d.f.anyAccess && !access.Valid() {
		access = 0
	}
	mr, err := pd.ProtectionDomain.RegisterMemory(full, access)
	if err != nil {
		return nil, err
	}
	if key := mr.RKey(); key != 0 {
		newest.Store(key)
	}
	return &region{MemoryRegion: mr, pd: pd, f: pd.d.f, n: len(buf), key: mr.RKey()}, nil
}

func (pd *domain) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	if q, ok := cfg.SendCQ.(*queue); ok {
		cfg.SendCQ = q.CompletionQueue
	}
	if q, ok := cfg.RecvCQ.(*queue); ok {
		cfg.RecvCQ = q.CompletionQueue
	}
	if pd.d.f.oneCQ {
		cfg.RecvCQ = cfg.SendCQ
	}
	if tell := cfg.Notify; tell != nil && pd.d.f.twice {
		cfg.Notify = func() { tell(); tell() }
	}
	if cfg.MaxSendSGE > 0 {
		cfg.MaxSendSGE += pd.d.f.elements
	}
	cfg.MaxSendWR += pd.d.f.room
	qp, err := pd.ProtectionDomain.CreateQP(cfg)
	if err != nil {
		return nil, err
	}
	return &queuePair{QueuePair: qp, pd: pd, f: pd.d.f}, nil
}

func (pd *domain) Close() error {
	if !pd.d.f.onePD {
		return pd.ProtectionDomain.Close()
	}
	pd.d.mu.Lock()
	defer pd.d.mu.Unlock()
	if pd.d.used--; pd.d.used > 0 {
		return nil
	}
	return pd.d.pd.Close()
}

type region struct {
	verbs.MemoryRegion
	pd      *domain
	f       faults
	n       int
	key     uint32
	invalid bool
}

func (r *region) Bytes() []byte {
	b := r.MemoryRegion.Bytes()
	return b[:min(len(b), r.n)]
}

func (r *region) Deregister() error {
	if !r.f.hoards {
		return r.MemoryRegion.Deregister()
	}
	kept := &kept{r.MemoryRegion, r.MemoryRegion.Bytes()}
	r.MemoryRegion = kept
	return kept.MemoryRegion.Deregister()
}

// kept is a region that keeps its memory.
type kept struct {
	verbs.MemoryRegion
	memory []byte
}

func (k *kept) Bytes() []byte { return k.memory }

func (r *region) RKey() uint32 {
	if r.f.oneKey {
		return r.key
	}
	return r.MemoryRegion.RKey()
}

func (r *region) State() verbs.MRState {
	if r.invalid {
		return verbs.MRInvalid
	}
	return r.MemoryRegion.State()
}

func (r *region) Invalidate() error {
	switch {
	case r.f.keepValid:
		r.invalid = true
		return nil
	case r.f.lateInvalid:
		go func() { // later than the return
			time.Sleep(time.Millisecond)
			r.MemoryRegion.Invalidate()
		}()
		return nil
	}
	return r.MemoryRegion.Invalidate()
}

func (r *region) Reregister(buf []byte, access verbs.Access) error {
	err := r.MemoryRegion.Reregister(buf, access)
	if err == nil {
		r.n = len(buf)
	}
	return err
}

type queue struct {
	verbs.CompletionQueue
	d         *device
	change    func(verbs.WC) []verbs.WC
	solicited atomic.Bool

	mu   sync.Mutex
	more []verbs.WC
}

func (q *queue) Arm(solicitedOnly bool) error {
	if q.d.f.narrow && (solicitedOnly || q.solicited.Load()) {
		q.solicited.Store(true)
		solicitedOnly = true
	}
	return q.CompletionQueue.Arm(solicitedOnly)
}

func (q *queue) Poll(wcs []verbs.WC) (int, error) {
	if q.change == nil {
		n, err := q.CompletionQueue.Poll(wcs)
		if q.d.f.poll != nil {
			q.d.f.poll(wcs[:n])
		}
		return n, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		n := copy(wcs, q.more)
		q.more = q.more[n:]
		if n > 0 {
			return n, nil
		}
		one := make([]verbs.WC, 1)
		if n, err := q.CompletionQueue.Poll(one); n == 0 {
			return 0, err
		}
		q.more = append(q.more, q.change(one[0])...)
	}
}

type queuePair struct {
	verbs.QueuePair
	pd      *domain
	f       faults
	waiting []verbs.SendWR
	passed  bool // a post went by since
	mu      sync.Mutex
}

func plain(sgl []verbs.SGE) []verbs.SGE {
	out := append([]verbs.SGE(nil), sgl...)
	for i := range out {
		if r, ok := out[i].MR.(*region); ok {
			out[i].MR = r.MemoryRegion
		}
	}
	return out
}

func (q *queuePair) PostSend(wrs []verbs.SendWR) (int, error) {
	if q.f.lockPosts {
		q.mu.Lock()
		defer q.mu.Unlock()
	}
	inner := make([]verbs.SendWR, len(wrs))
	for i := range wrs {
		inner[i] = wrs[i]
		inner[i].SGL = plain(wrs[i].SGL)
		if q.f.wr != nil {
			q.f.wr(&inner[i])
		}
		if q.f.anyKey && inner[i].Opcode == verbs.RDMAWrite {
			inner[i].RKey = newest.Load()
		}
	}
	if q.f.torn {
		for i := range inner {
			if _, err := q.QueuePair.PostSend(inner[i : i+1]); err != nil {
				return i, err
			}
			time.Sleep(50 * time.Microsecond)
		}
		return len(wrs), nil
	}
	if q.f.batch != nil {
		_, err := q.QueuePair.PostSend(q.f.batch(q, inner))
		return len(wrs), err
	}
	n, err := q.QueuePair.PostSend(inner)
	if q.f.swallow {
		return len(wrs), nil
	}
	if err != nil && q.f.goesOn && n+1 < len(inner) {
		q.QueuePair.PostSend(inner[n+1:])
	}
	return n, err
}

func (q *queuePair) PostRecv(wrs []verbs.RecvWR) (int, error) {
	if q.f.keeps {
		time.AfterFunc(time.Millisecond, func() {
			q.QueuePair.PostRecv([]verbs.RecvWR{{WRID: wrs[0].WRID, SGL: plain(wrs[0].SGL), Lend: wrs[0].Lend}})
		})
		return len(wrs), nil
	}
	inner := make([]verbs.RecvWR, len(wrs))
	for i := range wrs {
		inner[i] = verbs.RecvWR{WRID: wrs[i].WRID, SGL: plain(wrs[i].SGL), Lend: wrs[i].Lend}
		if q.f.forgetful {
			inner[i].Lend = 0
		}
	}
	return q.QueuePair.PostRecv(inner)
}

func (q *queuePair) Disconnect() error {
	if q.f.stays {
		return nil
	}
	return q.QueuePair.Disconnect()
}

func (q *queuePair) DisconnectFor(reason verbs.DisconnectReason) error {
	if q.f.mute {
		reason = verbs.ReasonDone
	}
	return q.QueuePair.(verbs.ReasonDisconnecter).DisconnectFor(reason)
}

// Revoke implements verbs.Revoker.
func (q *queuePair) Revoke(regions []verbs.MemoryRegion, done func(error)) error {
	for _, mr := range regions {
		switch r, ok := mr.(*region); {
		case q.f.anyRegion:
		case !ok || r.pd != q.pd:
			return verbs.ErrForeignObject
		case r.State() == verbs.MRDeregistered:
			return verbs.ErrClosed
		}
	}
	for _, mr := range regions {
		if mr != nil {
			mr.Invalidate()
		}
	}
	if q.State() < verbs.StateError || !q.f.unreported {
		done(nil)
	}
	if q.f.repeats {
		done(nil)
	}
	return nil
}

func (q *queuePair) ChannelBinding() (verbs.ChannelBinding, error) {
	b, err := verbs.BindingOf(q.QueuePair)
	if q.f.oneBinding {
		clear(b.Data)
	}
	return b, err
}

func (q *queuePair) Close() error {
	if q.f.leak {
		return nil
	}
	return q.QueuePair.Close()
}
