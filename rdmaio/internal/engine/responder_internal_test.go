package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
)

// newResponder returns the responder of an engine.
func newResponder(maxErrors int) *responder {
	e := New(Config{
		Role: Responder, Versions: []protocol.Version{new(v1.Version)}, Serves: 4, Recv: make([]Buffer, 4),
		Send: []Buffer{{Bytes: make([]byte, 1024)}}, SendWRs: 8, MaxErrors: maxErrors, DoneTimeout: time.Second,
	})
	e.sends.reset()
	return &e.responder
}

// R310: refusals close the connection only if there are more than MaxErrors within a second.
func TestRefusalFlood(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		limit int
		at    []time.Duration // of each refusal
		ends  int             // index of the refusal that closes the connection, or none
	}{
		"at the limit":               {3, []time.Duration{0, 0, 0}, none},
		"over it at once":            {3, []time.Duration{0, 0, 0, 0}, 3},
		"over it within a second":    {3, []time.Duration{0, 300 * ms, 600 * ms, 999 * ms}, 3},
		"a second begins again":      {3, []time.Duration{0, 300 * ms, 600 * ms, 1000 * ms, 1100 * ms, 1200 * ms}, none},
		"the next second is limited": {2, []time.Duration{0, 0, 1000 * ms, 1000 * ms, 1500 * ms}, 4},
		"a long pause":               {1, []time.Duration{0, time.Hour, 2 * time.Hour}, none},
		"a clock that starts late":   {1, []time.Duration{time.Hour, time.Hour + 999*ms}, 1},
		"no limit":                   {0, make([]time.Duration, 1000), none},
		"further ones after the end": {1, []time.Duration{0, 0, 0}, 1},
	} {
		rs := newResponder(c.limit)
		ended := none
		for i, at := range c.at {
			rs.now = at
			r := &Request{XID: uint32(i), source: source{recv: none}, state: received}
			rs.refuse(r, header.Error{Code: header.ErrChunk})
			if !rs.open && ended == none {
				ended = i
				if r.state != released || !errors.Is(r.Err, ErrTooManyErrors) || !errors.Is(rs.eff.Fail, ErrTooManyErrors) {
					t.Errorf("%s: refusal %d is in state %v with %v; the connection fails with %v", name, i, r.state, r.Err, rs.eff.Fail)
				}
				if len(rs.eff.Release) != i+1 || rs.answers.len() > 0 {
					t.Errorf("%s: %d Requests released and %d queued at the end, want all %d released", name, len(rs.eff.Release), rs.answers.len(), i+1)
				}
			}
		}
		if ended != c.ends {
			t.Errorf("%s: refusal %d ended the connection, want %d", name, ended, c.ends)
		}
		if c.ends == none && rs.answers.len() != len(c.at) {
			t.Errorf("%s: %d RDMA_ERROR queued, want %d", name, rs.answers.len(), len(c.at))
		}
	}
}

// The state of a Request after the chain that it waits for has completed, and the credits of our
// Calls that it frees.
func TestCompletedChain(t *testing.T) {
	for from, want := range map[requestState]struct {
		to    requestState
		freed int
	}{
		sent:      {released, 0},
		sentReads: {awaitingDone, 0},
		doneSent:  {released, 1}, // R106
	} {
		rs := newResponder(0)
		rs.account.Sent(protocol.ClassCall, 0)
		r := &Request{state: from, source: source{recv: none}}
		rs.completed(r)
		freed := 1 - rs.account.Counts().Calls
		if r.state != want.to || freed != want.freed || !rs.open {
			t.Errorf("%v: to state %v, %d credits freed, want %v, %d", from, r.state, freed, want.to, want.freed)
		}
	}
}

// At the end of a connection each Request that the driver does not hold is released once, with the
// reason, in the order of the lists that hold them. One in sentReads is in two.
func TestAbandonRequests(t *testing.T) {
	rs := newResponder(0)
	var xid uint32
	in := func(s requestState) *Request {
		xid++
		return &Request{XID: xid, state: s, source: source{recv: none}}
	}
	why := errors.New("the end")
	rs.eff.Assemble = []*Request{in(assembling)}
	rs.eff.Deliver = []*Request{in(delivered)}
	rs.copied = []*Request{in(sent)}
	rs.answers.push(in(queued))
	rs.answers.push(in(readQueued))
	rs.answers.push(in(doneQueued))
	rs.pulls.push(in(readDeferred))
	both := &Request{state: sentReads, source: source{recv: none}}
	for _, r := range []*Request{in(reading), both, in(sent), in(doneSent)} {
		rs.sends.begin(1, nil, r)
	}
	rs.deferred.push(in(deferred))
	xid++
	both.XID = xid
	rs.awaitingDone = []*Request{both, in(awaitingDone)}

	rs.end(why)
	var got, want []uint32
	for _, r := range rs.eff.Release {
		got = append(got, r.XID)
		if r.state != released || r.Err != why {
			t.Errorf("Request %d is in state %v with %v", r.XID, r.state, r.Err)
		}
	}
	for x := range xid {
		want = append(want, 1+x)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("released: %s", diff)
	}
	if rs.ended != why || len(rs.eff.Assemble)+len(rs.eff.Deliver) > 0 {
		t.Errorf("ended with %v; %d Requests still to assemble, %d to deliver", rs.ended, len(rs.eff.Assemble), len(rs.eff.Deliver))
	}
}
