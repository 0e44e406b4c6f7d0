package verbstest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/verbstest"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

// mutants are providers with one fault each, and the case that must see it.
var mutants = map[string]struct {
	caught string
	faults faults
}{
	"sends reordered":             {"messages/order", faults{batch: reverse}},
	"write late":                  {"memory/write then send", faults{batch: writesLast}},
	"fence ignored":               {"memory/read then fenced send", faults{batch: late(verbs.RDMARead)}},
	"completion lost":             {"messages/order", faults{wc: every(7, func(verbs.WC) []verbs.WC { return nil })}},
	"completion doubled":          {"messages/order", faults{wc: every(7, func(wc verbs.WC) []verbs.WC { return []verbs.WC{wc, wc} })}},
	"completions swapped":         {"queues/completion order", faults{poll: swap}},
	"flush lost":                  {"disconnect/flush", faults{wc: status(verbs.StatusFlushed, func(verbs.WC) []verbs.WC { return nil })}},
	"flush doubled":               {"disconnect/flush", faults{wc: status(verbs.StatusFlushed, func(wc verbs.WC) []verbs.WC { return []verbs.WC{wc, wc} })}},
	"flush as success":            {"disconnect/flush", faults{wc: status(verbs.StatusFlushed, func(wc verbs.WC) []verbs.WC { wc.Status = 0; return []verbs.WC{wc} })}},
	"truncation as success":       {"messages/receive too small", faults{wc: status(verbs.StatusLocalLength, func(wc verbs.WC) []verbs.WC { wc.Status = 0; return []verbs.WC{wc} })}},
	"refused access as success":   {"memory/rights", faults{wc: status(verbs.StatusRemoteAccess, func(wc verbs.WC) []verbs.WC { wc.Status = 0; return []verbs.WC{wc} })}},
	"wrong ByteLen":               {"messages/lengths", faults{wc: opcode(verbs.WCRecv, func(wc *verbs.WC) { wc.ByteLen++ })}},
	"no ByteLen of Reads":         {"memory/read", faults{wc: opcode(verbs.WCRDMARead, func(wc *verbs.WC) { wc.ByteLen = 0 })}},
	"wrong queue pair":            {"queues/shared by two", faults{wc: opcode(verbs.WCRecv, func(wc *verbs.WC) { wc.QPNum ^= 1 })}},
	"invalidated key not told":    {"invalidate/by peer", faults{wc: opcode(verbs.WCRecv, func(wc *verbs.WC) { wc.InvalidatedRKey = 0 })}},
	"peer's invalidate dropped":   {"invalidate/by peer", faults{wr: func(wr *verbs.SendWR) { wr.Opcode &^= verbs.SendWithInvalidate }}},
	"unsignaled completes":        {"queues/unsignaled", faults{wr: func(wr *verbs.SendWR) { wr.Flags |= verbs.SendSignaled }}},
	"solicited dropped":           {"queues/solicited", faults{wr: func(wr *verbs.SendWR) { wr.Flags &^= verbs.SendSolicited }}},
	"last byte dropped":           {"messages/lengths", faults{wr: shorten}},
	"second element ignored":      {"messages/scatter-gather", faults{wr: func(wr *verbs.SendWR) { wr.SGL = wr.SGL[:min(len(wr.SGL), 1)] }}},
	"batch goes on behind bad":    {"queues/bad request in a batch", faults{goesOn: true}},
	"rights not checked":          {"memory/rights", faults{access: func(verbs.Access) verbs.Access { return 7 }}},
	"remote invalidate unchecked": {"invalidate/refused to peer", faults{access: func(a verbs.Access) verbs.Access { return a | verbs.AccessRemoteInvalidate }}},
	"bounds rounded":              {"memory/bounds", faults{slack: 64}},
	"domains not separate":        {"memory/foreign domain", faults{onePD: true}},
	"invalidate forgotten":        {"invalidate/by call", faults{keepValid: true}},
	"invalidate too late":         {"invalidate/race with writes", faults{lateInvalid: true}},
	"key kept":                    {"memory/handles", faults{oneKey: true}},
	"queue longer":                {"queues/full", faults{room: 1}},
	"notification missed":         {"queues/arm misses nothing", faults{missNotify: 50}},
	"post under a lock":           {"queues/post from a notification", faults{lockPosts: true}},
	"disconnect ignored":          {"disconnect/every state", faults{stays: true}},
	"queue pair leaked":           {"disconnect/flush", faults{leak: true}},
	"dirty memory":                {"memory/alloc", faults{dirty: true}},
	"private data cut":            {"connect/private data", faults{private: -1}},
	"read depth wrong":            {"connect/read depth", faults{depth: 1}},
	"dial error of no kind":       {"connect/refused", faults{dialErr: errors.New("it did not work")}},
}

// faults are what is wrong with a provider.
type faults struct {
	wr     func(*verbs.SendWR)
	batch  func(q *queuePair, wrs []verbs.SendWR) []verbs.SendWR
	wc     func() func(verbs.WC) []verbs.WC
	poll   func([]verbs.WC)
	access func(verbs.Access) verbs.Access

	slack, room, missNotify, private, depth          int
	onePD, keepValid, lateInvalid, oneKey, lockPosts bool
	stays, leak, dirty, goesOn                       bool
	dialErr                                          error
}

const chosen = "VERBSTEST_MUTANT"

// Each mutant is caught by the case that is there for it.
func TestMutantsAreCaught(t *testing.T) {
	if os.Getenv(chosen) != "" || testing.Short() {
		t.Skip("only at the top, and takes seconds")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(mutant, test string) (string, error) {
		pattern := "^TestMutant$/^" + strings.ReplaceAll(strings.ReplaceAll(test, " ", "_"), "/", "$/^") + "$"
		cmd := exec.Command(exe, "-test.v", "-test.timeout=6s", "-test.run="+pattern)
		cmd.Env = append(os.Environ(), chosen+"="+mutant)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(name, m.caught)
			test := "TestMutant/" + strings.ReplaceAll(m.caught, " ", "_")
			if exit := new(exec.ExitError); !errors.As(err, &exit) || !strings.Contains(out, "--- FAIL: "+test) && !strings.Contains(out, "test timed out") {
				t.Errorf("case %q does not see it: %v\n%s", m.caught, err, out)
			}
			if out, err := run("none", m.caught); err != nil || !strings.Contains(out, "--- PASS: "+test) {
				t.Errorf("case %q fails without a fault: %v\n%s", m.caught, err, out)
			}
		})
	}
}

// TestMutant runs the suite over one mutant, in a process of its own.
func TestMutant(t *testing.T) {
	name := os.Getenv(chosen)
	if name == "" {
		t.Skip("run by TestMutantsAreCaught")
	}
	f := mutants[name].faults
	verbstest.Run(t, func(t *testing.T) verbstest.Fabric {
		n := mem.New(nil)
		open := func(name string) verbs.Device {
			d, err := n.Open(name, nil)
			if err != nil {
				t.Fatal(err)
			}
			return &device{Device: d, f: f}
		}
		return verbstest.Fabric{Client: open("client"), Server: open("server"), Addr: "here", Precise: true, Timeout: time.Second}
	})
}

func reverse(_ *queuePair, wrs []verbs.SendWR) (out []verbs.SendWR) {
	for i := range wrs {
		out = append(out, wrs[len(wrs)-1-i])
	}
	return out
}

// late lets requests of one kind wait for the next post.
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

// writesLast lets a Write wait until the message that follows it is gone.
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

type device struct {
	verbs.Device
	f faults

	mu   sync.Mutex
	pd   verbs.ProtectionDomain // the one, for onePD
	used int
}

func (d *device) AllocPD() (verbs.ProtectionDomain, error) {
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
		return nil, err
	}
	return &listener{l}, nil
}

type listener struct{ verbs.Listener }

func (l *listener) Accept(ctx context.Context) (verbs.ConnRequest, error) {
	r, err := l.Listener.Accept(ctx)
	if err != nil {
		return nil, err
	}
	return &request{r}, nil
}

type request struct{ verbs.ConnRequest }

func (r *request) Accept(ctx context.Context, qp verbs.QueuePair, p *verbs.ConnParams) (*verbs.ConnInfo, error) {
	if w, ok := qp.(*queuePair); ok {
		qp = w.QueuePair
	}
	return r.ConnRequest.Accept(ctx, qp, p)
}

type domain struct {
	verbs.ProtectionDomain
	d *device
}

func (pd *domain) Alloc(n int) ([]byte, error) {
	if n < 1 {
		return pd.ProtectionDomain.Alloc(n)
	}
	buf, err := pd.ProtectionDomain.Alloc(n + pd.d.f.slack)
	if err != nil {
		return nil, err
	}
	if pd.d.f.dirty {
		buf[n-1] = 1
	}
	return buf[:n], nil
}

func (pd *domain) RegisterMemory(buf []byte, access verbs.Access) (verbs.MemoryRegion, error) {
	full := buf
	if s := pd.d.f.slack; s > 0 && cap(buf) >= len(buf)+s {
		full = buf[:len(buf)+s]
	}
	if change := pd.d.f.access; change != nil && access.Valid() && access != 0 {
		access = change(access)
	}
	mr, err := pd.ProtectionDomain.RegisterMemory(full, access)
	if err != nil {
		return nil, err
	}
	return &region{MemoryRegion: mr, f: pd.d.f, n: len(buf), key: mr.RKey()}, nil
}

func (pd *domain) CreateQP(cfg verbs.QPConfig) (verbs.QueuePair, error) {
	if q, ok := cfg.SendCQ.(*queue); ok {
		cfg.SendCQ = q.CompletionQueue
	}
	if q, ok := cfg.RecvCQ.(*queue); ok {
		cfg.RecvCQ = q.CompletionQueue
	}
	cfg.MaxSendWR += pd.d.f.room
	qp, err := pd.ProtectionDomain.CreateQP(cfg)
	if err != nil {
		return nil, err
	}
	return &queuePair{QueuePair: qp, f: pd.d.f}, nil
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
	f       faults
	n       int
	key     uint32
	invalid bool
}

func (r *region) Bytes() []byte { return r.MemoryRegion.Bytes()[:r.n] }

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
	d      *device
	change func(verbs.WC) []verbs.WC

	mu   sync.Mutex
	more []verbs.WC
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
	}
	if q.f.batch != nil {
		_, err := q.QueuePair.PostSend(q.f.batch(q, inner))
		return len(wrs), err
	}
	n, err := q.QueuePair.PostSend(inner)
	if err != nil && q.f.goesOn && n+1 < len(inner) {
		q.QueuePair.PostSend(inner[n+1:])
	}
	return n, err
}

func (q *queuePair) PostRecv(wrs []verbs.RecvWR) (int, error) {
	inner := make([]verbs.RecvWR, len(wrs))
	for i := range wrs {
		inner[i] = verbs.RecvWR{WRID: wrs[i].WRID, SGL: plain(wrs[i].SGL)}
	}
	return q.QueuePair.PostRecv(inner)
}

func (q *queuePair) Disconnect() error {
	if q.f.stays {
		return nil
	}
	return q.QueuePair.Disconnect()
}

func (q *queuePair) Close() error {
	if q.f.leak {
		return nil
	}
	return q.QueuePair.Close()
}
