package credits

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/fault"
)

// An answer that the provider refuses to send is not counted as sent: done gets the reason.
func TestRefusedSendIsNotCounted(t *testing.T) {
	w := rdmaiotest.New(t)
	boom := errors.New("boom")
	inj := fault.New(fault.Config{Script: []fault.Fault{{Kind: fault.RefuseSend, At: 1, Err: boom}}})
	w.Server = inj.Device(w.Server)
	result := make(chan error, 1)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(rpctest.XID(r.Message)).Buf}, func(err error) { result <- err })
	}), nil)
	c := w.Dial(nil)
	if _, err := c.Call(context.Background(), rpctest.SmallCall()); err == nil {
		t.Error("a Call was answered")
	}
	if err := <-result; !errors.Is(err, boom) {
		t.Errorf("done got %v, want the refusal", err)
	}
}

// Calls of several callers go out by one post, if there were others in progress. With one processor
// all callers have brought theirs before the first one returns, unless the system takes the
// processor away in between: such a run says nothing, so the best of five counts.
func TestCallsShareAPost(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const callers = 8
	w := rdmaiotest.New(t)
	held := make(chan *rdmaio.Request, 1)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		if binary.BigEndian.Uint32(r.Message) == 1 {
			held <- r // in progress until the others are over
			return
		}
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(binary.BigEndian.Uint32(r.Message)).Buf}, nil)
	}), nil)
	c := w.Dial(nil)
	rpctest.Again(t, c, rpctest.SmallCall(), 100) // brings credits for more than one
	var first, others sync.WaitGroup
	first.Go(func() { rpctest.Again(t, c, rpctest.SmallCall(), 1) })
	r := <-held
	longest := 0
	for try := uint32(0); try < 5 && longest < callers/2; try++ {
		n := len(w.History.Events())
		for i := range uint32(callers) {
			others.Go(func() { rpctest.Again(t, c, rpctest.SmallCall(), 2+try*callers+i) })
		}
		others.Wait()
		run := 0
		for _, e := range w.Since(n) {
			if !rdmaiotest.IsSend(&e) || e.Device != "client" {
				run = 0
				continue
			}
			run++
			longest = max(longest, run)
		}
	}
	if longest < callers/2 {
		t.Errorf("%d Calls of %d went out together, want all", longest, callers)
	}
	r.Reply(rdmaio.Message{Inline: rpctest.ReplyHeader(1).Buf}, nil)
	first.Wait()
}

// Replies of handlers that run in a row, at the one place that their connection has, go out by few
// posts. With one processor they are posted when the last handler has returned, unless the system
// takes the processor away in between: such a run says nothing, so the best of five counts.
func TestRepliesInARowShareAPost(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const callers, gate, last = 8, 2, 1
	w := rdmaiotest.New(t)
	entered, open, end, queued := make(chan bool), make(chan bool), make(chan bool), make(chan bool, 10*callers)
	w.Serve(rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		switch rpctest.XID(r.Message) % 100 {
		case gate:
			entered <- true
			<-open
		case last:
			entered <- true
			<-end
		}
		r.Reply(rdmaio.Message{Inline: rpctest.ReplyTo(r.Message)}, nil)
	}), &rdmaio.Config{MaxHandlers: 1, Events: func(e rdmaio.Event) {
		if hit, ok := e.(*rdmaio.LimitHit); ok && hit.Limit == rdmaio.LimitMaxHandlers {
			queued <- true
		}
	}})
	c := w.Dial(nil)
	rpctest.Again(t, c, rpctest.SmallCall(), 50) // brings credits for more than one
	var shared sync.WaitGroup
	longest := 0
	for try := uint32(0); try < 5 && longest < callers/2; try++ {
		var others sync.WaitGroup
		// At the connection's place:
		others.Go(func() { rpctest.Again(t, c, rpctest.SmallCall(), 100*try+gate) })
		<-entered
		if try == 0 {
			// At the shared place:
			shared.Go(func() { rpctest.Again(t, c, rpctest.SmallCall(), last) })
			<-entered
		}
		for i := range uint32(callers) {
			others.Go(func() { rpctest.Again(t, c, rpctest.SmallCall(), 100*try+10+i) })
		}
		for range callers {
			<-queued
		}
		n := len(w.History.Events())
		open <- true
		others.Wait()
		run := 0
		for _, e := range w.Since(n) {
			if !rdmaiotest.IsSend(&e) || e.Device != "server" {
				run = 0
				continue
			}
			run++
			longest = max(longest, run)
		}
	}
	if longest < callers/2 {
		t.Errorf("%d replies of %d went out together, want all", longest, callers+1)
	}
	end <- true
	shared.Wait()
}
