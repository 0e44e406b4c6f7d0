package mem

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/soft"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// execute carries out a request. The caller must hold the link, and q is connected. Each request
// runs to its end before the next: Writes are in place before a later Send (R4), at most one Read
// is outstanding (R14), and a fence has nothing to wait for.
func (l *link) execute(q *queuePair, r *soft.Request) {
	switch r.Opcode {
	case verbs.Send, verbs.SendWithInvalidate:
		l.send(q, r)
	case verbs.RDMAWrite:
		l.access(q, r, verbs.AccessRemoteWrite)
	case verbs.RDMARead:
		l.access(q, r, verbs.AccessRemoteRead)
	case verbs.LocalInvalidate:
		if !q.PD.InvalidateKey(r.Invalidate) {
			l.fail(q, r, verbs.StatusLocalProtection, fmt.Sprintf("local invalidate of key 0x%08x, which names no valid region of the domain", r.Invalidate))
			return
		}
		q.CompleteSend(&l.Mutex, r, verbs.StatusSuccess)
	}
}

// send delivers a message to the oldest Receive of the peer (R2, R3).
func (l *link) send(q *queuePair, r *soft.Request) {
	p := q.peer
	if p.rqCount == 0 {
		l.fail(q, r, verbs.StatusRNRRetryExceeded, fmt.Sprintf("message of %d bytes, but the peer has no Receive posted", r.Total))
		return
	}
	to := &p.rq[p.rqHead]
	if r.Total > to.total {
		l.completeRecv(p, verbs.WC{Status: verbs.StatusLocalLength}, false)
		l.fail(q, r, verbs.StatusRemoteInvalidRequest, fmt.Sprintf("message of %d bytes, but the Receive has room for %d", r.Total, to.total))
		return
	}
	wc := verbs.WC{ByteLen: uint32(r.Total)}
	if r.Opcode == verbs.SendWithInvalidate {
		if reason := p.PD.Invalidatable(r.Invalidate); reason != "" {
			l.fail(q, r, verbs.StatusRemoteAccess, fmt.Sprintf("send with invalidate of key 0x%08x: %s", r.Invalidate, reason))
			return
		}
		wc.InvalidatedRKey = r.Invalidate
	}
	if !r.SGL.Pin() {
		l.fail(q, r, verbs.StatusLocalProtection, "source region was invalidated after the post")
		return
	}
	if !to.sgl.Pin() {
		r.SGL.Unpin()
		l.completeRecv(p, verbs.WC{Status: verbs.StatusLocalProtection}, false)
		l.fail(q, r, verbs.StatusRemoteOperation, "region of the Receive was invalidated after the post")
		return
	}
	scatter(to.sgl, r.SGL)
	to.sgl.Unpin()
	r.SGL.Unpin()
	if r.Opcode == verbs.SendWithInvalidate {
		p.PD.InvalidateKey(r.Invalidate) // no effect if the region's owner has done it
	}
	l.completeRecv(p, wc, r.Flags&verbs.SendSolicited != 0)
	q.CompleteSend(&l.Mutex, r, verbs.StatusSuccess)
}

// access carries out a Write or a Read. It checks the whole range before it copies the first
// byte (RFC 5042 §6.2.1, §6.3.1; R9, R290).
func (l *link) access(q *queuePair, r *soft.Request, need verbs.Access) {
	if r.Total == 0 { // the range has no bytes, so the key is not checked
		q.CompleteSend(&l.Mutex, r, verbs.StatusSuccess)
		return
	}
	there, reason := q.peer.PD.Remote(r.RKey, r.Addr, r.Total, need)
	if reason == "" && !there.Pin() {
		reason = "region was invalidated"
	}
	if reason != "" {
		l.fail(q, r, verbs.StatusRemoteAccess, fmt.Sprintf("%v of %d bytes at %#x with key 0x%08x: %s", r.Opcode, r.Total, r.Addr, r.RKey, reason))
		return
	}
	if !r.SGL.Pin() {
		there.Unpin()
		l.fail(q, r, verbs.StatusLocalProtection, "local region was invalidated after the post")
		return
	}
	remote := there.Bytes()
	for i := range r.SGL {
		e := &r.SGL[i]
		if need == verbs.AccessRemoteRead {
			copy(e.Bytes(), remote)
		} else {
			copy(remote, e.Bytes())
		}
		remote = remote[e.Len:]
	}
	r.SGL.Unpin()
	there.Unpin()
	q.CompleteSend(&l.Mutex, r, verbs.StatusSuccess)
}

// fail completes a request with an error and breaks the connection at both ends.
func (l *link) fail(q *queuePair, r *soft.Request, status verbs.Status, what string) {
	q.CompleteSend(&l.Mutex, r, status)
	own := fmt.Errorf("%w: request %#x of queue pair %d: %s: %w", verbs.ErrConnectionBroken, r.WRID, q.Num(), what, status.Err())
	peers := fmt.Errorf("%w: queue pair %d: peer's request %#x: %s: %w", verbs.ErrConnectionBroken, q.peer.Num(), r.WRID, what, status.Err())
	l.end(q, own, peers)
}

// scatter copies a message from one list to another, which is at least as long.
func scatter(to, from soft.List) {
	i, at := 0, 0 // next byte of to
	for f := range from {
		src := from[f].Bytes()
		for len(src) > 0 {
			n := copy(to[i].Bytes()[at:], src)
			src = src[n:]
			if at += n; at == to[i].Len {
				i, at = i+1, 0
			}
		}
	}
}
