package fault

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// The two queues of a queue pair.
const (
	sendSide = iota
	recvSide
)

// defaultSendWR is the default of verbs.QPConfig.MaxSendWR.
const defaultSendWR = 128

// queuePair wraps a verbs.QueuePair.
type queuePair struct {
	verbs.QueuePair
	dev    *device
	pd     *protectionDomain
	cqs    [2]*completionQueue // by side; may be the same
	notify func()
	room   int // the largest number of requests that stall

	disconnecting sync.WaitGroup // the goroutine of breakConn
	connected     atomic.Bool    // it has been in StateConnected
	end           ending
	outstanding   outstanding    // requests of the send queue
	reporting     sync.WaitGroup // revocations that are not reported

	mu       sync.Mutex
	reason   error // why breakConn or fail has broken it, or nil
	stalled  int   // requests withheld from the provider
	recvLost bool  // Receives are withheld
	over     bool  // the connection is closed in the provider
	revoking map[*revocation]struct{}
}

// breakConn breaks the connection because of a fault: for the caller at once, in the provider as
// soon as a goroutine has called Disconnect.
func (q *queuePair) breakConn(reason error) {
	q.mu.Lock()
	first := q.reason == nil && q.QueuePair.State() < verbs.StateError
	if first {
		q.reason = reason
	}
	q.mu.Unlock()
	if first {
		q.disconnecting.Go(func() { q.QueuePair.Disconnect() })
	}
}

// fail makes an attempt to connect fail. It may wait, unlike breakConn.
func (q *queuePair) fail(f Fault) error {
	err := f.error()
	q.mu.Lock()
	q.reason = err
	q.mu.Unlock()
	q.QueuePair.Disconnect()
	return err
}

func (q *queuePair) ownReason() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.reason
}

func (q *queuePair) State() verbs.QPState {
	s := q.QueuePair.State()
	if s < verbs.StateError && q.ownReason() != nil {
		return verbs.StateError
	}
	return s
}

func (q *queuePair) Err() error {
	if err := q.ownReason(); err != nil {
		return err
	}
	if q.end.silent() {
		return nil
	}
	return q.cause(q.QueuePair.Err())
}

// checkEnded returns an error for posts on a connection that breakConn has broken.
func (q *queuePair) checkEnded() error {
	if err := q.ownReason(); err != nil {
		return fmt.Errorf("%w: queue pair %d: %w", verbs.ErrInvalidState, q.Num(), err)
	}
	return nil
}

// PostSend posts the requests to the provider in batches that end at a fault.
func (q *queuePair) PostSend(wrs []verbs.SendWR) (int, error) {
	q.dev.maybeRemove()
	if err := q.checkEnded(); err != nil {
		return 0, err
	}
	if q.QueuePair.State() != verbs.StateConnected {
		return q.forward(0, wrs) // the provider refuses them
	}
	done := 0 // requests handled so far
	for i := range wrs {
		if f, fires := q.dev.inj.occasion(RefuseSend); fires {
			if n, err := q.forward(done, wrs[done:i]); err != nil {
				return n, err
			}
			return i, f.error()
		}
		if err := q.window(&wrs[i]); err != nil {
			if n, err := q.forward(done, wrs[done:i]); err != nil {
				return n, err
			}
			return i, err
		}
		stalls, full := q.stalls(&wrs[i])
		if stalls || full != nil {
			if n, err := q.forward(done, wrs[done:i]); err != nil {
				return n, err
			}
			if full != nil {
				return i, full
			}
			q.cqs[sendSide].stall(queue{q, sendSide}, wrs[i].WRID)
			done = i + 1
		}
		if f, fires := q.dev.inj.occasion(Disconnect); fires {
			if n, err := q.forward(done, wrs[done:i+1]); err != nil {
				return n, err
			}
			q.breakConn(f.error())
			return i + 1, refusedRest(q, i+1, len(wrs))
		}
	}
	return q.forward(done, wrs[done:])
}

// forward posts the part of a batch that begins at index at. It returns the number of
// requests posted from the start of the batch.
func (q *queuePair) forward(at int, wrs []verbs.SendWR) (int, error) {
	inner := make([]verbs.SendWR, len(wrs))
	for i := range wrs {
		inner[i] = wrs[i]
		inner[i].SGL = unwrapList(wrs[i].SGL)
	}
	q.manner(inner)
	n, err := q.QueuePair.PostSend(inner)
	if q.dev.inj.tracks() {
		q.outstanding.drop(len(wrs) - n)
	}
	signaled := uint64(0)
	for _, wr := range wrs[:n] {
		if wr.Flags&verbs.SendSignaled != 0 {
			signaled++
		}
	}
	q.cqs[sendSide].posted(queue{q, sendSide}, signaled)
	return at + n, err
}

// window returns an error for a LocalInvalidate of a region that is not a window, with WindowsOnly.
func (q *queuePair) window(wr *verbs.SendWR) error {
	if wr.Opcode != verbs.LocalInvalidate || !q.dev.inj.has(WindowsOnly) {
		return nil
	}
	mr, _ := q.dev.inj.keys.find(wr.InvalidateRKey)
	if mr == nil || mr.pd != q.pd || mr.Access()&verbs.AccessRemoteInvalidate != 0 {
		return nil
	}
	q.dev.inj.happened(WindowsOnly)
	return fmt.Errorf("fault: queue pair %d: local invalidate of key %#x, whose region is no window (AccessRemoteInvalidate): %w", q.Num(), wr.InvalidateRKey, verbs.ErrNotSupported)
}

// refusedRest returns the error for requests after a connection's last one, or nil if there are no
// more.
func refusedRest(q *queuePair, n, of int) error {
	if n == of {
		return nil
	}
	return fmt.Errorf("fault: queue pair %d: connection ended after request %d of %d: %w", q.Num(), n, of, verbs.ErrInvalidState)
}

// stalls reports whether a request is withheld from the provider, and counts it.
func (q *queuePair) stalls(wr *verbs.SendWR) (bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	fires := q.stalled > 0 && wr.Flags&verbs.SendFence != 0
	if wr.Opcode == verbs.RDMARead && !fires {
		_, fires = q.dev.inj.occasion(StallRead)
	}
	switch {
	case !fires:
		return false, nil
	case q.stalled == q.room:
		return false, fmt.Errorf("fault: queue pair %d: %d requests stall, as many as the send queue has entries: %w", q.Num(), q.room, verbs.ErrQueueFull)
	}
	q.stalled++
	return true, nil
}

// PostRecv posts the Receives to the provider one by one.
func (q *queuePair) PostRecv(wrs []verbs.RecvWR) (n int, err error) {
	q.dev.maybeRemove()
	for i := range wrs {
		if err := q.checkEnded(); err != nil {
			return i, err
		}
		sgl, lend := unwrapList(wrs[i].SGL), wrs[i].Lend
		if lend != 0 && q.dev.plain() {
			return i, fmt.Errorf("fault: queue pair %d: the device lends no memory (DeviceAttributes.LendReceives): %w", q.Num(), verbs.ErrNotSupported)
		}
		if q.QueuePair.State() < verbs.StateError {
			if f, fires := q.dev.inj.occasion(RefuseRecv); fires {
				return i, f.error()
			}
			if q.losesRecv() {
				q.cqs[recvSide].stall(queue{q, recvSide}, wrs[i].WRID)
				continue
			}
			if _, fires := q.dev.inj.occasion(ShortRecv); fires {
				sgl, lend = shorten(sgl), min(lend, shortRecv)
			}
		}
		if _, err := q.QueuePair.PostRecv([]verbs.RecvWR{{WRID: wrs[i].WRID, SGL: sgl, Lend: lend}}); err != nil {
			return i, err
		}
		q.cqs[recvSide].posted(queue{q, recvSide}, 1)
	}
	return len(wrs), nil
}

// losesRecv reports whether a Receive is withheld from the provider.
func (q *queuePair) losesRecv() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.recvLost {
		_, q.recvLost = q.dev.inj.occasion(LoseRecv)
	}
	return q.recvLost
}

// shortRecv is the size in bytes of a Receive after ShortRecv: too short for any header.
const shortRecv = 8

// shorten shortens a list in place.
func shorten(sgl []verbs.SGE) []verbs.SGE {
	if len(sgl) == 0 {
		return sgl
	}
	sgl = sgl[:1]
	sgl[0].Length = min(sgl[0].Length, shortRecv)
	return sgl
}

// DisconnectFor implements verbs.ReasonDisconnecter. It returns verbs.ErrNotSupported if the
// wrapped queue pair does not.
func (q *queuePair) DisconnectFor(reason verbs.DisconnectReason) error {
	d, ok := q.QueuePair.(verbs.ReasonDisconnecter)
	if !ok {
		return verbs.ErrNotSupported
	}
	return d.DisconnectFor(reason)
}

// Probe implements verbs.Prober. It returns verbs.ErrNotSupported if the wrapped queue pair does
// not.
func (q *queuePair) Probe(limit time.Duration) error { return verbs.Probe(q.QueuePair, limit) }

// ChannelBinding implements verbs.ChannelBinder. It returns verbs.ErrNotSupported if the wrapped
// queue pair does not.
func (q *queuePair) ChannelBinding() (verbs.ChannelBinding, error) {
	return verbs.BindingOf(q.QueuePair)
}

// TLSState implements verbs.TLSStater. It returns verbs.ErrNotSupported if the wrapped queue pair
// does not.
func (q *queuePair) TLSState() (verbs.TLSState, error) { return verbs.TLSStateOf(q.QueuePair) }

// Progress implements verbs.Progresser. It returns at once if the wrapped queue pair does not.
func (q *queuePair) Progress(done func() bool) { q.progresser().Progress(done) }

// Wake implements verbs.Progresser.
func (q *queuePair) Wake() { q.progresser().Wake() }

// Resume implements verbs.Progresser.
func (q *queuePair) Resume() { q.progresser().Resume() }

func (q *queuePair) progresser() verbs.Progresser {
	if q.dev.inj.has(Plain) {
		return verbs.ProgresserOf(nil)
	}
	return verbs.ProgresserOf(q.QueuePair)
}

func (q *queuePair) Close() error {
	q.disconnecting.Wait()
	err := q.QueuePair.Close()
	q.endRevocations()
	q.reporting.Wait()
	if q.end.tell() {
		q.tellEnd()
	}
	for _, cq := range q.cqs {
		cq.forget(q)
	}
	return err
}

// unwrapList returns a list with the provider's own regions.
func unwrapList(sgl []verbs.SGE) []verbs.SGE {
	inner := make([]verbs.SGE, len(sgl))
	for i, e := range sgl {
		if w, ok := e.MR.(*memoryRegion); ok {
			e.MR = w.MemoryRegion
		}
		inner[i] = e
	}
	return inner
}
