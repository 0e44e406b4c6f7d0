package ibverbs

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// window is a memory window of type 2, which belongs to a queue pair. The queue pair's lock guards
// it.
//
//	free ── bind ──> bound ── revocation posted ──> revoking ── completed ──> free
//	                   └── invalidated by the peer, or by a LocalInvalidate ──> free
//	bound, revoking ── Deregister, or end of the queue pair ──> deallocated
type window struct {
	qp     *queuePair
	mw     lib.MW
	key    uint32  // of the last bind
	region *region // nil if the window is free

	executed bool          // the bind is: else it would fail if the window were deallocated
	revoking bool          // a request that invalidates it is posted
	waiting  []*revocation // ended when the region is invalid
}

// windows are the windows of a queue pair. The queue pair's lock guards them.
type windows struct {
	qp    *queuePair
	limit int       // the most that may exist
	all   []*window // not deallocated
	free  []*window // used in turn: a key comes again as late as possible
	bound map[uint32]*window
}

// nextKey returns the key for a window's next bind: the program increments its low byte.
func nextKey(key uint32) uint32 { return key&^0xff | (key+1)&0xff }

// bind makes a region valid by a window over a buffer in a slab. It returns false, without an
// error, if the region must be registered instead. Unless the queue pair's configuration says that
// keys travel by its Sends, bind waits until the key works.
func (ws *windows) bind(r *region, s *slab, buf []byte, access verbs.Access, lkey uint32) (bool, error) {
	q := ws.qp
	q.mu.Lock()
	w, err := q.win.startBind(r, s, buf, access, lkey)
	wait, key := w != nil && q.Cfg.MaxBoundMRs == 0, uint32(0)
	if wait {
		key = w.key
	}
	q.mu.UnlockNotify()
	for n := 0; wait; n++ {
		q.mu.Lock()
		q.poll()
		wait = w.key == key && !w.executed && !q.end.begun
		q.mu.UnlockNotify()
		if wait {
			time.Sleep(waitStep(n))
		}
	}
	return w != nil, err
}

// startBind posts the bind. It returns nil if the region must be registered instead. The caller
// holds q.mu.
func (ws *windows) startBind(r *region, s *slab, buf []byte, access verbs.Access, lkey uint32) (*window, error) {
	q := ws.qp
	if q.State() != verbs.StateConnected || q.end.begun || q.held.on {
		return nil, nil
	}
	if q.win.internalFull() || !q.win.available() {
		q.poll() // requests may be complete, and windows invalid
	}
	if q.end.begun {
		return nil, nil
	}
	var w *window
	if !q.win.internalFull() {
		w = q.win.takeWindow()
	}
	if w == nil {
		return nil, q.win.instead(access)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.renewable(); err != nil {
		q.win.free = append(q.win.free, w)
		return nil, err
	}
	seq := q.sq.push()
	e := q.sq.at(seq)
	*e = request{kind: kindBind, window: w, sgl: e.sgl[:0]}
	wire := abi.SendWR{
		Opcode: abi.OpBindMW,
		Bind: abi.Bind{
			MW: uintptr(w.mw), RKey: nextKey(w.key), MR: uintptr(s.mr), Addr: uint64(address(buf)), Length: uint64(len(buf)),
			Access: rights(access) &^ abi.LocalWrite,
		},
	}
	// The entries that binds use become free with a later request that is signaled. If the peer
	// invalidates all regions, only the caller's Sends would be signaled.
	e.signaled = q.Cfg.MaxBoundMRs == 0 || q.sq.internal >= q.sq.limit/2
	if err := q.post(seq, wire); err != nil {
		q.win.free = append(q.win.free, w)
		if errors.Is(err, verbs.ErrQueueFull) {
			return nil, q.win.instead(access)
		}
		return nil, nil // the queue pair has failed, so the peer cannot invalidate anything
	}
	w.key = nextKey(w.key)
	abi.SetMWKey(uintptr(w.mw), w.key) // after the post: the library compares the old one in it
	w.region, w.executed = r, false
	q.win.bound[w.key] = w
	r.renew(buf, access, lkey, w.key)
	r.window = w
	return w, nil
}

// internalFull reports whether there is no space for a bind and the revocation of what it binds.
// One entry is left for a ping. The caller holds q.mu.
func (ws *windows) internalFull() bool {
	q := ws.qp
	return q.sq.internal+len(q.win.bound)+3 > q.sq.limit
}

// available reports whether takeWindow can return a window. ws.qp.mu must be held.
func (ws *windows) available() bool { return len(ws.free) > 0 || len(ws.all) < ws.limit }

// instead returns an error if a region must have a window: the peer may invalidate it, and an
// invalidation of a registration would break the connection. ws.qp.mu must be held.
func (ws *windows) instead(access verbs.Access) error {
	if access&verbs.AccessRemoteInvalidate == 0 || !ws.qp.dev.attrs.RemoteInvalidate {
		return nil
	}
	return fmt.Errorf("ibverbs: queue pair %d: register: no memory window is left for a region that the peer may invalidate, %d of %d are bound: %w",
		ws.qp.Num(), len(ws.bound), ws.limit, verbs.ErrQueueFull)
}

// takeWindow returns a free window, or nil. It makes new windows before it uses old ones again, so
// that keys recur as late as possible. ws.qp.mu must be held.
func (ws *windows) takeWindow() *window {
	q := ws.qp
	v := &q.win
	if len(v.free) > v.limit/4 || len(v.all) >= v.limit {
		return v.oldest()
	}
	mw, err := q.dev.lib.AllocMW(q.pd.pd)
	if err != nil {
		return v.oldest() // a limit of the device, which all its connections share
	}
	w := &window{qp: q, mw: mw, key: abi.MWKey(uintptr(mw))}
	v.all = append(v.all, w)
	return w
}

// oldest returns the window that has been free for the longest time, or nil. ws.qp.mu must be held.
func (ws *windows) oldest() *window {
	if len(ws.free) == 0 {
		return nil
	}
	w := ws.free[0]
	ws.free = ws.free[1:]
	return w
}

// invalidated makes the region of a window invalid: nothing can access the memory through its key.
// The caller holds q.mu.
func (ws *windows) invalidated(w *window) {
	q := ws.qp
	r := w.region
	if r == nil {
		return
	}
	delete(q.win.bound, w.key)
	r.mu.Lock()
	sink := r.sink
	r.sink = 0
	if r.window == w {
		r.window = nil
		if r.state == verbs.MRValid {
			r.state = verbs.MRInvalid
		}
	}
	r.mu.Unlock()
	if err := q.dev.deregister(sink); err != nil {
		q.end.callFailed("invalidate a memory window", err)
	}
	w.region = nil
	for _, v := range w.waiting {
		q.finishOne(v)
	}
	w.waiting = nil
}

// recycle makes a window free after its region was invalidated. The caller holds q.mu.
func (ws *windows) recycle(w *window) {
	q := ws.qp
	q.win.invalidated(w)
	w.revoking = false
	q.win.free = append(q.win.free, w)
}

// byPeer handles the invalidation of a key by the peer's SendWithInvalidate. The caller holds q.mu.
func (ws *windows) byPeer(key uint32) {
	q := ws.qp
	w := q.win.bound[key]
	switch {
	case w == nil:
	case w.revoking:
		q.win.invalidated(w) // the posted revocation recycles it
	default:
		q.win.recycle(w)
	}
}

// discard deallocates the window of a region, which invalidates it at once. If requests of the
// window are posted, discard revokes it, and waits.
func (ws *windows) discard(r *region) {
	q := ws.qp
	q.mu.Lock()
	q.poll()
	r.mu.Lock()
	w := r.window
	r.mu.Unlock()
	switch {
	case w == nil:
		q.mu.UnlockNotify()
	case w.revoking || !w.executed || q.end.begun:
		q.mu.UnlockNotify()
		q.win.revokeAndWait(r)
	default:
		q.win.all = slices.DeleteFunc(q.win.all, func(o *window) bool { return o == w })
		if err := q.dev.lib.DeallocMW(w.mw); err != nil && !q.dev.gone() {
			q.end.callFailed("deallocate a memory window", err)
		}
		q.win.invalidated(w)
		q.mu.UnlockNotify()
	}
}

// deallocate deallocates all windows. The queue pair executes nothing any more, and is destroyed
// afterwards: a driver was seen to wait for the windows of a queue pair that it destroys.
func (ws *windows) deallocate() error {
	q := ws.qp
	q.mu.Lock()
	all := q.win.all
	q.mu.Unlock()
	var errs []error
	for _, w := range all {
		if err := q.dev.lib.DeallocMW(w.mw); err != nil && !q.dev.gone() {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
