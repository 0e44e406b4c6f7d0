package rdmaiotest

import (
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// OneSendEach checks the history of one RPC, from mark on: one Send in each direction, at most two
// signaled requests of each side, and no refused requests.
func OneSendEach(t *testing.T, w *World, mark int) {
	t.Helper()
	list := w.Since(mark)
	for _, dev := range []string{"client", "server"} {
		if n := Count(list, func(e *trace.Event) bool {
			return e.Device == dev && IsSend(e)
		}); n != 1 {
			t.Errorf("%s posted %d Sends for one RPC", dev, n)
		}
		if n := Count(list, func(e *trace.Event) bool { return e.Device == dev && signaled(e) }); n > 2 {
			t.Errorf("%s asked for %d completions for one RPC, want at most 2", dev, n)
		}
	}
	completeOnce(t, w.History.Events())
	if n := Count(list, func(e *trace.Event) bool { return e.Err != nil || e.Status != verbs.StatusSuccess }); n != 0 {
		t.Errorf("%d events with an error", n)
	}
}

// completeOnce checks that each completion of a send queue belongs to a signaled request, and is
// its only one. The history must be complete: the last Send of an RPC may complete after the Call
// has returned, even during the next RPC.
func completeOnce(t *testing.T, all []trace.Event) {
	t.Helper()
	type request struct {
		dev string
		qp  uint32
		id  uint64
	}
	due := make(map[request]bool)
	for i := range all {
		e := &all[i]
		r := request{e.Device, e.QP, e.WRID}
		switch {
		case signaled(e):
			due[r] = true
		case e.Kind == trace.Complete && e.WCOpcode != verbs.WCRecv && !due[r]:
			t.Errorf("%s: a completion of request %#x that no signaled request is waiting for", e.Device, e.WRID)
		case e.Kind == trace.Complete && e.WCOpcode != verbs.WCRecv:
			delete(due, r)
		}
	}
}

// signaled reports whether e posts a request that asks for a completion.
func signaled(e *trace.Event) bool {
	return e.Kind == trace.PostSend && e.Flags&verbs.SendSignaled != 0
}

// KeysEnded checks that every key that the client registered was invalidated once in this history,
// by itself or by the server. A key that was redirected counts as well.
func KeysEnded(t *testing.T, list []trace.Event, want int) {
	t.Helper()
	live, seen := make(map[uint32]bool), 0
	for _, e := range list {
		key := max(e.RKey, e.InvalidateRKey) // an event has one of them
		if e.Device != "client" || key == 0 {
			continue
		}
		switch e.Kind {
		case trace.Register, trace.Reregister:
			live[key] = true
			seen++
		case trace.Redirect:
			delete(live, key)
		case trace.Invalidate, trace.Complete:
			if !live[key] {
				t.Errorf("T79: key %#x was invalidated twice", key)
			}
			delete(live, key)
		}
	}
	if seen != want || len(live) != 0 {
		t.Errorf("%d keys were given out, want %d; %d reach memory of a Call that returned", seen, want, len(live))
	}
}

// Names checks that an error has all the parts.
func Names(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want one with %q", err, part)
		}
	}
}
