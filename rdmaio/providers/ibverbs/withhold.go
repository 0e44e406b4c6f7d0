package ibverbs

import (
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// withheld are the send requests of an acceptor that wait in the ring, and are not posted: over siw
// the connection fails if something of the acceptor reaches the initiator together with the reply
// to its connection request (quirks.BrittleReply). They wait until the initiator has sent
// something, which it does when it has the reply.
//
//	off ── Accept ──> on ── first request ──> looking ── a message, bytes of TCP, or 1 s ──> off
//
// An initiator of this provider sends a Write of no bytes when it is connected. No program sees
// that Write, but the acceptor's kernel counts its bytes. The queue pair's lock guards it.
type withheld struct {
	qp     *queuePair
	on     bool
	before uint64    // bytes of the initiator before Accept, or noBytes
	until  time.Time // when requests are posted without a sign of the initiator
	step   time.Duration
	timer  *time.Timer // nil before the first request
}

const (
	withholdLimit = time.Second // for a peer whose protocol lets the acceptor speak first
	firstLook     = time.Millisecond
	lastLook      = 50 * time.Millisecond
	noBytes       = ^uint64(0) // the kernel does not say
)

// bytesFrom returns the number of bytes that the kernel has received on a device's TCP connection.
func bytesFrom(d *Device, p path) uint64 {
	if s, err := d.tcp(p.local, p.remote); err == nil {
		return s.Received
	}
	return noBytes
}

// start begins to withhold requests. The caller holds the queue pair's lock.
func (w *withheld) start(before uint64) {
	w.on, w.before, w.until, w.step = true, before, time.Now().Add(w.qp.dev.waits.withhold), firstLook
}

// added begins to look for the initiator when the first request waits. The caller holds the queue
// pair's lock.
func (w *withheld) added() {
	if w.on && w.timer == nil && !w.check() {
		w.timer = time.AfterFunc(w.step, w.look)
	}
}

// look looks for the initiator, each time after a longer pause.
func (w *withheld) look() {
	q := w.qp
	q.mu.Lock()
	defer q.mu.UnlockNotify()
	q.poll()
	if w.on && !w.check() {
		w.step = min(2*w.step, lastLook)
		w.timer.Reset(w.step)
	}
}

// check posts the requests if there is a sign of the initiator, or the time is over. It reports
// whether it has. The caller holds the queue pair's lock.
func (w *withheld) check() bool {
	heard := false
	if w.before != noBytes {
		n := bytesFrom(w.qp.dev, w.qp.life.path)
		heard = n != noBytes && n > w.before
	}
	if !heard && time.Now().Before(w.until) {
		return false
	}
	w.release()
	return true
}

// release posts the requests that wait, up to one that bars the queue. The caller holds the queue
// pair's lock.
func (w *withheld) release() {
	if !w.on {
		return
	}
	w.stop()
	q := w.qp
	for seq := q.sq.head; ; seq++ {
		last := seq == q.sq.tail || q.sq.at(seq).done
		if (last || q.sq.batch == postBatch) && !w.post(seq) || last {
			return
		}
		q.enqueue(seq, q.sq.at(seq).wire(q.dev))
	}
}

// post posts the batch, whose requests are those before number next. After an error of the
// library the queue pair fails: the posts of these requests have succeeded.
func (w *withheld) post(next uint64) bool {
	q := w.qp
	n := q.sq.batch
	if n == 0 {
		return true
	}
	q.sq.batch = 0
	base := abi.Addr(q.area.reqs)
	bad, err := q.dev.lib.PostSend(q.hw, base)
	if err == nil {
		return true
	}
	w.flush(next - uint64(n) + unposted(bad, base, abi.SendWRSize, n))
	q.end.callFailed("post", err)
	return false
}

// flush marks the requests from number first on as flushed: the device never gets them.
func (w *withheld) flush(first uint64) {
	q := w.qp
	for seq := first; seq < q.sq.tail; seq++ {
		if e := q.sq.at(seq); !e.done {
			e.done, e.status = true, verbs.StatusFlushed
		}
	}
}

// drop flushes the requests that wait, because the queue pair ends. The caller holds the queue
// pair's lock.
func (w *withheld) drop() {
	if w.on {
		w.stop()
		w.flush(w.qp.sq.head)
	}
}

func (w *withheld) stop() {
	w.on = false
	if w.timer != nil {
		w.timer.Stop()
	}
}
