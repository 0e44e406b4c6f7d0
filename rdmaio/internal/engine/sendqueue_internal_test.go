package engine

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// newSendQueue returns the send queue of an engine in a Step. The engine has n send buffers that
// are not borrowed.
func newSendQueue(n, wrs, borrow int) *sendQueue {
	e := New(Config{Versions: []protocol.Version{new(v1.Version)}, Send: make([]Buffer, n), SendWRs: wrs, MaxBorrowed: borrow, ChainTimeout: time.Minute})
	e.sends.reset()
	return &e.sends
}

// chain posts a chain of n requests with a send buffer. r waits for it, if it is not nil.
func (sq *sendQueue) chain(n int, r *Request) (id uint64) {
	buf := sq.buffers.last()
	sq.buffers.take(buf, 0)
	id = sq.begin(n, buf, r)
	for i := range n {
		wr := verbs.SendWR{WRID: id}
		if i == n-1 {
			wr.Flags = verbs.SendSignaled
		}
		sq.add(wr, verbs.SGE{})
	}
	return id
}

// signaled returns the ids of this Step's chains that request a completion.
func (sq *sendQueue) signaled() (ids []uint64) {
	for _, wr := range sq.eff.Sends {
		if wr.Flags&verbs.SendSignaled != 0 {
			ids = append(ids, wr.WRID)
		}
	}
	return ids
}

// A chain without a Request is quiet if another follows in the same Step. The completion of the
// next signaled chain completes both.
func TestQuietChains(t *testing.T) {
	waits := new(Request)
	for name, c := range map[string]struct {
		chains []*Request // of one Step, with the Request that waits for each
		want   []uint64   // signaled
		left   []int      // entries in use after each completion; a chain has two
	}{
		"one":                           {[]*Request{nil}, []uint64{1}, []int{0}},
		"the last of three":             {[]*Request{nil, nil, nil}, []uint64{3}, []int{0}},
		"one with a Request":            {[]*Request{waits, nil}, []uint64{1, 2}, []int{2, 0}},
		"one before it":                 {[]*Request{nil, waits}, []uint64{2}, []int{0}},
		"Requests wait for all":         {[]*Request{waits, waits}, []uint64{1, 2}, []int{2, 0}},
		"quiet ones before and between": {[]*Request{nil, waits, nil, nil, waits, nil}, []uint64{2, 5, 6}, []int{8, 2, 0}},
	} {
		sq := newSendQueue(len(c.chains), 2*len(c.chains), 0)
		for _, r := range c.chains {
			sq.chain(2, r)
		}
		if diff := cmp.Diff(c.want, sq.signaled()); diff != "" {
			t.Errorf("%s: signaled chains: %s", name, diff)
			continue
		}
		if sq.room(1, false) || len(sq.buffers.free) > 0 {
			t.Errorf("%s: a full send queue has room, or free buffers", name)
		}
		for i, id := range c.want {
			if got := sq.sent(&verbs.WC{WRID: id}); got != c.chains[id-1] {
				t.Errorf("%s: completion %d returns a Request: %v, want that of its chain", name, id, got != nil)
			}
			if free := len(sq.buffers.free); sq.filled != c.left[i] || 2*(len(c.chains)-free) != c.left[i] {
				t.Errorf("%s: after completion %d, %d entries are in use and %d buffers free, want %d entries", name, id, sq.filled, free, c.left[i])
			}
		}
		if !sq.open || sq.awaited != 0 || sq.chains.len() > 0 {
			t.Errorf("%s: at the end %d chains, %d of them awaited; the connection ended with %v", name, sq.chains.len(), sq.awaited, sq.ended)
		}
	}
}

// The next Step must not change a chain that is posted already.
func TestQuietOnlyInOneStep(t *testing.T) {
	sq := newSendQueue(2, 2, 0)
	first := sq.chain(1, nil)
	sq.eff.reset()
	sq.reset()
	sq.chain(1, nil)
	if sq.chains.at(0).quiet {
		t.Error("a chain of the Step before is quiet")
	}
	sq.sent(&verbs.WC{WRID: first})
	if sq.filled != 1 || !sq.open {
		t.Errorf("%d entries in use, ended with %v, want 1", sq.filled, sq.ended)
	}
}

// A completion of any chain but the oldest signaled one closes the connection.
func TestCompletionOutOfOrder(t *testing.T) {
	for name, c := range map[string]struct {
		waits []bool // for each chain, whether a Request waits
		id    uint64
	}{
		"no chain":                    {nil, 1},
		"the second before the first": {[]bool{true, true}, 2},
		"a quiet one":                 {[]bool{false, true}, 1},
		"one that was not posted":     {[]bool{false}, 7},
	} {
		sq := newSendQueue(2, 4, 0)
		for _, w := range c.waits {
			var r *Request
			if w {
				r = &Request{state: reading}
			}
			sq.chain(1, r)
		}
		if r := sq.sent(&verbs.WC{WRID: c.id}); r != nil || !errors.Is(sq.ended, ErrInternal) {
			t.Errorf("%s: returns %v, ended with %v, want %v", name, r, sq.ended, ErrInternal)
		}
		if sq.chains.len() > 0 || sq.filled > 0 {
			t.Errorf("%s: %d chains and %d entries after the end", name, sq.chains.len(), sq.filled)
		}
	}
}

// At the end of the connection the Requests that wait are returned in post order, and borrowed
// buffers are given back whether they are free or not.
func TestAbandonChains(t *testing.T) {
	sq := newSendQueue(1, 8, 3)
	sq.addBuffers([]*Buffer{{}, {}, {}})
	a, b := &Request{XID: 1}, &Request{XID: 2}
	sq.chain(1, nil)
	sq.chain(2, a)
	sq.chain(1, b)
	if got := sq.abandon(); !slices.Equal(got, []*Request{a, b}) {
		t.Errorf("%d Requests waited, want both in order", len(got))
	}
	if len(sq.eff.Return) != 3 || sq.filled != 0 || sq.awaited != 0 {
		t.Errorf("%d buffers returned, %d entries in use, %d awaited, want 3, 0, 0", len(sq.eff.Return), sq.filled, sq.awaited)
	}
}

// Each second, the borrowed buffers that were not in use at any time in it are returned.
func TestShrinkBuffers(t *testing.T) {
	for name, c := range map[string]struct {
		own, borrowed, used int
		after               time.Duration
		want                int // returned
	}{
		"too early":               {1, 4, 0, shrinkInterval - 1, 0},
		"unused":                  {1, 4, 0, shrinkInterval, 4},
		"own ones suffice":        {3, 2, 3, shrinkInterval, 2},
		"some in use":             {1, 4, 3, shrinkInterval, 2},
		"all in use":              {1, 4, 5, shrinkInterval, 0},
		"none borrowed":           {2, 0, 1, shrinkInterval, 0},
		"long without EventTimer": {1, 4, 2, 10 * shrinkInterval, 3},
	} {
		sq := newSendQueue(c.own, 16, c.borrowed)
		var list []*Buffer
		for range c.borrowed {
			list = append(list, new(Buffer))
		}
		sq.addBuffers(list)
		var ids []uint64
		for range c.used {
			ids = append(ids, sq.chain(1, new(Request)))
		}
		for _, id := range ids { // the use is over: what counts is the most in use at a time
			sq.sent(&verbs.WC{WRID: id})
		}
		sq.now += c.after
		sq.shrinkBuffers()
		free := len(sq.buffers.free)
		if got := len(sq.eff.Return); got != c.want || free != c.own+c.borrowed-c.want {
			t.Errorf("%s: %d returned, %d kept, want %d returned", name, got, free, c.want)
		}
		for _, b := range sq.eff.Return {
			if !b.borrowed || slices.Contains(sq.buffers.free, b) {
				t.Errorf("%s: returned a permanent buffer, or one that is still in use", name)
			}
		}
		for range 2 {
			sq.now += shrinkInterval
			sq.shrinkBuffers()
		}
		if sq.buffers.borrowed > 0 {
			t.Errorf("%s: %d borrowed after two idle intervals", name, sq.buffers.borrowed)
		}
	}
}
