package ibverbs

import (
	"errors"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/fakelib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
)

// watched is a library whose calls a test can see and stop.
type watched struct {
	lib.Lib
	mu      sync.Mutex
	calls   []string            // of those below, in order
	before  map[string][]func() // called before the next calls of a function, one each
	hold    int                 // calls of ibv_poll_cq that find nothing; negative means all
	refusal *refusal            // nil if posts are not refused
	failing map[string]error    // of the next call of a function below
	noFatal bool
	claims  bool // the device says that it has windows
}

// Names of calls that depend on the arguments.
const (
	modifyERR = "ibv_modify_qp ERR"
	cmEvent   = "rdma_get_cm_event" // with an event
	cqEvent   = "ibv_get_cq_event"  // with an event

	connectReturns = "rdma_connect returns"
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

// failNext makes the next ibv_poll_cq, ibv_req_notify_cq or ibv_destroy_cq fail. The last one
// destroys its queue all the same.
func (w *watched) failNext(fn string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failing = map[string]error{fn: err}
}

// failure returns the error that failNext wants of a call.
func (w *watched) failure(fn string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.failing[fn]
	delete(w.failing, fn)
	return err
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

// dropFatal hides all further events that say that the device is gone.
func (w *watched) dropFatal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noFatal = true
}

func (w *watched) AsyncEvent(ctx lib.Context) (abi.AsyncEvent, error) {
	for {
		e, err := w.Lib.AsyncEvent(ctx)
		w.mu.Lock()
		hidden := err == nil && e.Type == abi.AsyncDeviceFatal && w.noFatal
		w.mu.Unlock()
		if !hidden {
			return e, err
		}
		w.AckAsyncEvent(e)
	}
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
	return errors.Join(w.Lib.DestroyCQ(cq), w.failure("ibv_destroy_cq"))
}

func (w *watched) QueryDevice(ctx lib.Context) (abi.DeviceAttr, error) {
	attr, err := w.Lib.QueryDevice(ctx)
	if w.claims {
		attr.Caps, attr.MaxMW = attr.Caps|abi.CapMemWindow2B, 1000
	}
	return attr, err
}

func (w *watched) AllocMW(pd lib.PD) (lib.MW, error) {
	w.enter("ibv_alloc_mw")
	return w.Lib.AllocMW(pd)
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
	if err := w.failure("ibv_req_notify_cq"); err != nil {
		return err
	}
	return w.Lib.ReqNotify(cq, solicitedOnly)
}

func (w *watched) PostSend(qp lib.QP, first uintptr) (uintptr, error) {
	w.enter("ibv_post_send")
	return w.post(first, abi.SendWRSize, func() (uintptr, error) { return w.Lib.PostSend(qp, first) })
}

func (w *watched) PostRecv(qp lib.QP, first uintptr) (uintptr, error) {
	return w.post(first, abi.RecvWRSize, func() (uintptr, error) { return w.Lib.PostRecv(qp, first) })
}

func (w *watched) Poll(cq lib.CQ, wcs []byte) (int, error) {
	w.mu.Lock()
	held := w.hold != 0
	if w.hold > 0 {
		w.hold--
	}
	w.mu.Unlock()
	w.enter("ibv_poll_cq")
	if err := w.failure("ibv_poll_cq"); err != nil {
		return 0, err
	}
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
	defer w.enter(connectReturns)
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

// refusePosts makes the next post of a chain that is longer than n requests, counted over posts,
// fail with errno after so many requests.
func (w *watched) refusePosts(n int, errno syscall.Errno) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refusal = &refusal{n, errno}
}

// refusal makes a post fail.
type refusal struct {
	left  int
	errno syscall.Errno
}

// post posts a chain whose requests have size bytes, as far as the refusal allows.
func (w *watched) post(first uintptr, size int, post func() (uintptr, error)) (uintptr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var before []byte
	p := first
	for r := w.refusal; r != nil && p != 0; {
		if r.left > 0 {
			r.left--
			before = abi.At(p, size)
			p = abi.GetRecvWR(before[:abi.RecvWRSize]).Next // which is where Sends have it
			continue
		}
		w.refusal = nil
		if p != first {
			abi.SetNext(before, 0)
			if bad, err := post(); err != nil {
				return bad, err
			}
			abi.SetNext(before, p)
		}
		return p, r.errno
	}
	return post()
}
