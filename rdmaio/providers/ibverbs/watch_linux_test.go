package ibverbs

import (
	"slices"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
)

// watched is a library whose calls a test can see and stop.
type watched struct {
	lib.Lib
	mu     sync.Mutex
	calls  []string            // of those below, in order
	before map[string][]func() // called before the next calls of a function, one each
	hold   int                 // calls of ibv_poll_cq that find nothing; negative means all
}

// Names of calls that depend on the arguments.
const (
	modifyERR = "ibv_modify_qp ERR"
	cmEvent   = "rdma_get_cm_event" // with an event
	cqEvent   = "ibv_get_cq_event"  // with an event
)

func (w *watched) enter(fn string) {
	w.mu.Lock()
	w.calls = append(w.calls, fn)
	var f func()
	if list := w.before[fn]; len(list) > 0 {
		f, w.before[fn] = list[0], list[1:]
	}
	w.mu.Unlock()
	if f != nil {
		f()
	}
}

// once makes the next call of a function run f first. Used again, it does so for the call after
// that.
func (w *watched) once(fn string, f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.before[fn] = append(w.before[fn], f)
}

// holdPolls makes the next n polls find nothing, or all if n is negative.
func (w *watched) holdPolls(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold = n
}

// count returns how often a function was called.
func (w *watched) count(fn string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		if c == fn {
			n++
		}
	}
	return n
}

// order returns the calls of some functions in their order, and forgets all.
func (w *watched) order(fns ...string) (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.calls {
		if slices.Contains(fns, c) {
			list = append(list, c)
		}
	}
	w.calls = nil
	return list
}

func (w *watched) ModifyQP(qp lib.QP, attr abi.QPAttr, mask abi.QPMask) error {
	if attr.State == abi.QPErr {
		w.enter(modifyERR)
	}
	return w.Lib.ModifyQP(qp, attr, mask)
}

func (w *watched) DestroyQP(qp lib.QP) error {
	w.enter("ibv_destroy_qp")
	return w.Lib.DestroyQP(qp)
}

func (w *watched) DestroyCQ(cq lib.CQ) error {
	w.enter("ibv_destroy_cq")
	return w.Lib.DestroyCQ(cq)
}

func (w *watched) DeallocMW(mw lib.MW) error {
	w.enter("ibv_dealloc_mw")
	return w.Lib.DeallocMW(mw)
}

func (w *watched) DeregMR(mr lib.MR) error {
	w.enter("ibv_dereg_mr")
	return w.Lib.DeregMR(mr)
}

func (w *watched) ReqNotify(cq lib.CQ, solicitedOnly bool) error {
	w.enter("ibv_req_notify_cq")
	return w.Lib.ReqNotify(cq, solicitedOnly)
}

func (w *watched) PostSend(qp lib.QP, first uintptr) (uintptr, error) {
	w.enter("ibv_post_send")
	return w.Lib.PostSend(qp, first)
}

func (w *watched) Poll(cq lib.CQ, wcs []byte) (int, error) {
	w.mu.Lock()
	held := w.hold != 0
	if w.hold > 0 {
		w.hold--
	}
	w.mu.Unlock()
	w.enter("ibv_poll_cq")
	if held {
		return 0, nil
	}
	return w.Lib.Poll(cq, wcs)
}

func (w *watched) CQEvent(ch lib.CompChannel) (lib.CQ, uintptr, error) {
	cq, user, err := w.Lib.CQEvent(ch)
	if err == nil {
		w.enter(cqEvent)
	}
	return cq, user, err
}

func (w *watched) Connect(id lib.ID, p *abi.ConnParam) error {
	w.enter("rdma_connect")
	return w.Lib.Connect(id, p)
}

func (w *watched) Accept(id lib.ID, p *abi.ConnParam) error {
	w.enter("rdma_accept")
	return w.Lib.Accept(id, p)
}

func (w *watched) Reject(id lib.ID, data []byte) error {
	w.enter("rdma_reject")
	return w.Lib.Reject(id, data)
}

func (w *watched) Disconnect(id lib.ID) error {
	w.enter("rdma_disconnect")
	return w.Lib.Disconnect(id)
}

func (w *watched) DestroyID(id lib.ID) error {
	w.enter("rdma_destroy_id")
	return w.Lib.DestroyID(id)
}

func (w *watched) GetCMEvent(ch lib.EventChannel) (lib.CMEvent, error) {
	e, err := w.Lib.GetCMEvent(ch)
	if err == nil {
		w.enter(cmEvent)
	}
	return e, err
}

func (w *watched) CreateQP(pd lib.PD, attr *abi.QPInitAttr) (lib.QP, error) {
	w.enter("ibv_create_qp")
	return w.Lib.CreateQP(pd, attr)
}

// openWatched is openFake with a library of the client that the test watches.
func openWatched(t *testing.T, tr abi.Transport, q quirks.Quirks, cfg Config) (*fakeNet, *watched) {
	t.Helper()
	w := &watched{before: make(map[string][]func())}
	f := openFakeOver(t, tr, q, cfg, func(h *fakelib.Host) lib.Lib {
		w.Lib = h
		return w
	})
	return f, w
}
