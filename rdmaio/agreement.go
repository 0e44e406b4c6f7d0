package rdmaio

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// agreement has the terms and the version that hold on a connection:
//
//	offered: the preferred version, its first terms
//	   │ negotiate: private data of version 1; connected: RDMA Reads of the queue pairs
//	   v
//	 open ── take with a version: the first message of the peer, or its answer ──> settled
//
// Terms may change in every state, by SetTerms or messages of the peer. The version changes at most
// once, when it becomes known, and settled is closed soon after.
type agreement struct {
	atomic.Pointer[agreed]               // never nil
	versions               int           // number of versions that this side has
	settled                chan struct{} // closed when the version is known
	versionKnown           sync.Once

	noReads, peerNoReads atomic.Bool  // this side, and the peer, can make no RDMA Reads
	advertised           header.Terms // of version 1; only connection setup uses them
}

// agreed holds the terms of a connection and its version.
type agreed struct {
	header.Terms
	version protocol.Version // the preferred one until it is known
	known   bool
	noLists header.Lists // empty, for overhead
}

// offer begins with the first terms of the preferred version.
func (a *agreement) offer(versions []protocol.Version, firstRecv int) {
	a.versions, a.settled = len(versions), make(chan struct{})
	first := versions[0].Terms(false)
	first.Recv = min(first.Recv, firstRecv)
	a.Store(&agreed{Terms: first, version: versions[0]})
}

// take takes new terms, and the version if it is known. It returns true for the first version. The
// caller then closes settled.
func (a *agreement) take(t *header.Terms, v protocol.Version) (first bool) {
	before := a.Load()
	now := &agreed{Terms: *t, version: before.version, known: before.known}
	if v != nil {
		now.version, now.known = v, true
	}
	a.Store(now)
	if v != nil {
		a.versionKnown.Do(func() { first = true })
	}
	return first
}

// apply takes terms of version 1, unless another one is preferred or known: the engine then has the
// terms, and the first message of the peer may have brought them while the connection is set up.
func (a *agreement) apply(t header.Terms) {
	for {
		before := a.Load()
		if before.version.Properties() != nil {
			return
		}
		if a.CompareAndSwap(before, &agreed{Terms: t, version: before.version, known: before.known}) {
			return
		}
	}
}

// await blocks until the version is known, or until the caller's context or the connection's (conn)
// is done.
func (a *agreement) await(ctx, conn context.Context) error {
	if a.Load().known {
		return nil
	}
	select {
	case <-a.settled:
		return nil
	case <-conn.Done():
		return context.Cause(conn)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// negotiate returns the terms of version 1 by the private data of both sides, and whether the peer
// has any. RDMA Reads wait for connected, because a Call may come before Accept returns. The
// Receives of the advertised size were posted before it was advertised.
func (a *agreement) negotiate(own v1.Private, private []byte) (t header.Terms, advertised bool) {
	peer, advertised := v1.FindPrivate(private)
	t = v1.Agree(own, peer)
	t.ReadsUnknown = true
	a.advertised = t
	return t, advertised
}

// connected returns the terms with the RDMA Reads that the queue pairs negotiated.
func (a *agreement) connected(info *verbs.ConnInfo) header.Terms {
	a.noReads.Store(info.InitiatorDepth == 0)
	a.peerNoReads.Store(info.ResponderResources == 0)
	now := a.Load()
	t := now.Terms
	if now.version.Properties() != nil { // EventTerms are of version 1
		t = a.advertised
	}
	t = a.possible(t)
	t.ReadsUnknown = false
	return t
}

// possible returns t without the RDMA Reads that the queue pairs cannot make. Calls received that
// need one are refused by ERR_CHUNK, and Calls of this side have no read chunks (R297).
func (a *agreement) possible(t header.Terms) header.Terms {
	if a.noReads.Load() {
		t.Reads = -1
	}
	t.NoReadChunks = t.NoReadChunks || a.peerNoReads.Load()
	return t
}

// terms returns the terms that hold now, as a user sees them.
func (a *agreement) terms() Terms {
	t := a.Load()
	shown := Terms{
		InlineSend: t.Send, InlineRecv: t.Recv, RemoteInvalidate: t.RemoteInvalidate,
		Reads: t.Reads, NoReadChunks: t.NoReadChunks, SegmentSize: t.SegmentSize, MaxSegments: t.Segments,
	}
	if t.known || a.versions == 1 {
		shown.Version = int(t.version.Number())
	}
	return shown
}

// sendRoom returns the number of bytes that a message with these lists can have inline. Nil lists
// are empty.
func (a *agreed) sendRoom(l *header.Lists) int { return a.Send - a.overhead(l) }

// recvRoom returns the number of bytes that a message of the peer with these lists can have inline.
// Nil lists are empty.
func (a *agreed) recvRoom(l *header.Lists) int { return a.Recv - a.overhead(l) }

// overhead returns the length of a header with these lists.
func (a *agreed) overhead(l *header.Lists) int {
	if l == nil {
		l = &a.noLists
	}
	return a.version.Overhead(l)
}

// defines reports whether the version has an error code.
func (a *agreed) defines(code PeerErrorCode) bool {
	e := header.Error{Code: header.ErrorCode(code)}
	return a.version.Error(e) == e
}
