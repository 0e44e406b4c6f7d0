package ibverbs

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

const (
	// callWait is the longest time for which an end waits for its joinCall.
	callWait = 10 * time.Millisecond

	// closeWait is the longest time for which Device.Close waits for the calls of connections that
	// were given up. siw waits 10 s for the answer to a connection request.
	closeWait = 15 * time.Second
)

// joinCall is the call of rdma_connect or rdma_accept for a connection.
//
//	not begun ── join ──> running ── returned ──> waiting for the peer ──> answered
//
// While it runs or waits, closing the connection would wait, too. siw makes its TCP connection
// within rdma_connect: the kernel tries that for two minutes if the peer does not answer. And over
// iWARP rdma_disconnect and rdma_destroy_id wait in the kernel until a connection request is
// answered.
type joinCall struct {
	begun    atomic.Bool   // it may run, or has run
	returned chan struct{} // closed when it has returned
	answered chan struct{} // closed when rdma_disconnect and rdma_destroy_id do not wait
	once     *sync.Once    // of answered
}

func newJoinCall() joinCall {
	return joinCall{returned: make(chan struct{}), answered: make(chan struct{}), once: new(sync.Once)}
}

func (j *joinCall) answer() { j.once.Do(func() { close(j.answered) }) }

// settled waits until the end has nothing to wait for, and reports whether that is so within the
// limit. The end has begun: no call begins from now on.
func (j *joinCall) settled(limit time.Duration) bool {
	if !j.begun.Load() {
		return true
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	for _, done := range []chan struct{}{j.returned, j.answered} {
		select {
		case <-done:
		case <-t.C:
			return false
		}
	}
	return true
}

// lateEnds are ends whose objects stay at the device until the joinCall is answered. The caller
// sees the end before that.
type lateEnds struct {
	mu   sync.Mutex
	left map[*connection]chan struct{} // closed when the objects are destroyed
}

func (l *lateEnds) add(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == nil {
		l.left = make(map[*connection]chan struct{})
	}
	l.left[c] = make(chan struct{})
}

func (l *lateEnds) remove(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.left[c])
	delete(l.left, c)
}

// any returns one of the ends, or nil.
func (l *lateEnds) any() (*connection, chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, done := range l.left {
		return c, done
	}
	return nil, nil
}

// wait waits until all ends are complete, but not longer than limit.
func (l *lateEnds) wait(limit time.Duration) error {
	t := time.NewTimer(limit)
	defer t.Stop()
	for {
		c, done := l.any()
		if c == nil {
			return nil
		}
		select {
		case <-done:
		case <-t.C:
			what := "the acceptance of a connection"
			if c.peer != "" {
				what = "the connection request to " + c.peer
			}
			return fmt.Errorf("%s, which was given up, is not over in the kernel after %v: "+
				"it is when the peer answers, or TCP gives up (net.ipv4.tcp_syn_retries); close the device again then: %w", what, limit, verbs.ErrBusy)
		}
	}
}

// destroyLater is destroy for a connection whose joinCall is not settled.
func (end *ending) destroyLater(c *connection) {
	q := end.qp
	d := q.dev
	d.ends.late.add(c)
	q.pd.keep()
	d.ends.Add(1)
	go func() {
		defer d.ends.Done()
		<-c.call.returned
		c.disconnect() // waits for the answer
		end.failed(end.destroy(c))
		if err := q.pd.release(); err != nil {
			d.cfg.Logger.Error("ibverbs: the device failed to deallocate a protection domain", "device", d.attrs.Name, "err", err)
		}
		d.ends.late.remove(c)
	}()
}
